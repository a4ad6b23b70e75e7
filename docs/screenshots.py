"""Takes the pictures of docs/images from a real terminal.

    python docs/screenshots.py

types commands at a shell in tmux, in a terminal of 100 columns, and draws what is on its screen
in its colours. Needs tmux and chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
COLUMNS, ROWS = 100, 60
_PROMPT = "$ "

_SETTING = r"""
pamctl init
pamctl create --type claim --id mem:tea --content '{"text": "Tea is at four."}' --source note:door
pamctl create --type observation --id mem:rain --content '{"text": "Rain; tea was late."}'
seen=$(pamctl read mem:tea --print version_id)
pamctl update mem:tea --expect "$seen" --source note:door \
  --merge-patch '{"text": "Tea is at five.", "days": ["Mon", "Fri"]}'
seen=$(pamctl read mem:tea --print version_id)
pamctl transition mem:tea validation corroborated --expect "$seen" --policy-basis 'on the door'
pamctl create --type decision --id mem:cups --scope project:garden --content '"Six cups."'
pamctl relate mem:rain contradicts mem:tea --id rel:rain-tea
"""
_PICTURES = {
    "help": ["pamctl diff --help"],
    "status": ["pamctl status"],
    "history": ["pamctl history mem:tea", "pamctl diff mem:tea 1 2"],
    "log": ["pamctl log", "pamctl query --text 'tea late' --any-state"],
    "errors": [
        "pamctl query --lifecycle activ",
        "pamctl update mem:tea --expect ver:old --content '\"Tea is at six.\"'",
        "pamctl create --type claim --content 'Tea is at four.'",
    ],
}


def main() -> int:
    """Draws every picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath)),
            "HOME": name,
            "LC_ALL": "C.UTF-8",
            "PAM_ACTOR": "actor:local:me",
        }
        made = {"cwd": folder, "env": environment, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run(["bash", "-ec", _SETTING], **made)
        for picture, commands in _PICTURES.items():
            _draw(picture, _screen(commands, folder, environment))
    return 0


def _screen(commands: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a terminal shows when these are typed at it, with its colours."""
    tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
    window = ["-x", str(COLUMNS), "-y", str(ROWS), "bash --norc --noprofile"]
    terminal = {**environment, "TERM": "xterm-256color"}
    subprocess.run([*tmux, "new-session", "-d", *window], cwd=folder, env=terminal, check=True)
    try:
        for command in [f"PS1='{_PROMPT}'; clear", *commands]:
            subprocess.run([*tmux, "send-keys", "-l", command], check=True)
            subprocess.run([*tmux, "send-keys", "Enter"], check=True)
            time.sleep(3)
        shown = subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    return shown.stdout.decode().rstrip().removesuffix(_PROMPT.strip()).rstrip()


def _draw(picture: str, screen: str) -> None:
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen), soft_wrap=True)
    drawn = console.export_svg(title="pamctl", theme=MONOKAI)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    assert size is not None
    width, height = (int(float(number)) + 1 for number in size.groups())
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "page.html"
        page.write_text(f'<body style="margin:0">{drawn}</body>', encoding="utf-8")
        subprocess.run(
            [
                str(shutil.which("chromium")),
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                "--default-background-color=00000000",
                f"--window-size={width},{height}",
                f"--screenshot={IMAGES / f'{picture}.png'}",
                page.as_uri(),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    sys.exit(main())
