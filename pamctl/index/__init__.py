"""The derived index of a scope: a function of its ledger and its versions and nothing else.

It may be deleted at any time, is made anew when it is old or damaged, and never decides
what is true. PAMSPEC §7.6, §17.3.
"""
