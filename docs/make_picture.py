"""Turns a captured terminal (with its colours) into docs/live-view.svg:

tmux new-session -d -s demo -x 108 -y 12 "sluice tune study.yaml"
tmux capture-pane -t demo -p -e | python3 docs/make_picture.py
"""

import html
import pathlib
import re
import sys

COLOURS = {
    "1": "#ffffff",
    "2": "#8b949e",
    "31": "#ff7b72",
    "32": "#7ee787",
    "33": "#e3b341",
    "34": "#79c0ff",
    "36": "#76e3ea",
}
WIDTH, HEIGHT, LEFT, TOP = 8.45, 20, 18, 34


def spans(line):
    """(text, colour) pieces of a line with escape codes."""
    colour = "#c9d1d9"
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if codes:
            known = [COLOURS[code] for code in codes[1].split(";") if code in COLOURS]
            colour = known[-1] if known else "#c9d1d9"
        elif piece:
            yield piece, colour


def main():
    lines = [
        line
        for line in sys.stdin.read().splitlines()
        if re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
    ]
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    rows = []
    for number, line in enumerate(lines):
        at = 0
        for text, colour in spans(line):
            x = LEFT + at * WIDTH
            at += len(text)
            if text.strip():
                place = f'x="{x:.1f}" y="{TOP + number * HEIGHT}" fill="{colour}"'
                length = f'textLength="{len(text) * WIDTH:.1f}" xml:space="preserve"'
                rows.append(f"<text {place} {length}>{html.escape(text)}</text>")
    width, height = int(2 * LEFT + columns * WIDTH), TOP + len(lines) * HEIGHT
    size = f'width="{width}" height="{height}" font-family="monospace" font-size="14"'
    ground = '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
    svg = "http://www.w3.org/2000/svg"
    picture = f'<svg xmlns="{svg}" {size}>{ground}{"".join(rows)}</svg>\n'
    pathlib.Path(__file__).with_name("live-view.svg").write_text(picture)


main()
