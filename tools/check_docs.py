# SPDX-License-Identifier: Apache-2.0
"""Checks the pages: links between them resolve, and commands of ./dev that they name exist."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"\./dev ([a-z]+)")


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    pages = [ROOT / line for line in listed.stdout.splitlines()]
    usage = subprocess.run(
        [ROOT / "dev", "help"], check=True, capture_output=True, text=True
    ).stdout
    commands = set(re.findall(r"^  ([a-z]+) ", usage, re.MULTILINE)) | {"help"}
    faults = []
    for page in pages:
        text = page.read_text()
        for target in LINK.findall(text):
            path = target.split("#")[0]
            if re.match(r"[a-z]+:", target) or not path:
                continue
            if not (page.parent / path).exists():
                faults.append(f"{page.relative_to(ROOT)}: no such file: {target}")
        for command in COMMAND.findall(text):
            if command not in commands:
                faults.append(f"{page.relative_to(ROOT)}: ./dev has no command {command}")
    print("\n".join(faults) or f"{len(pages)} pages: links and commands are right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
