"""Scripts of pages of traces, run by Node without a browser."""

import json
from pathlib import Path

import pyright.node

__all__ = ["HOST", "run_page"]

#: Data and script of the page, and elements that record the calls to them.
HOST = """
const fs = require("fs"), page = fs.readFileSync(process.argv[2], "utf8");
const data = /id="data">(.*?)<\\/script>/s.exec(page)[1];
const script = /<script>(.*?)<\\/script>/s.exec(page)[1];
const texts = [], elements = {}, nothing = () => {};
const element = (id) => elements[id] ??= { textContent: id === "data" ? data : "", style: {},
  on: {}, addEventListener(kind, act) { this.on[kind] = act; }, clientWidth: 1500,
  clientHeight: 4000, scrollTop: 0, offsetWidth: 9, offsetHeight: 9, getContext: () => pen,
  getBoundingClientRect: () => ({ top: 0, left: 0 }) };
const document = { getElementById: element }, view = { devicePixelRatio: 1,
  innerWidth: 1500, innerHeight: 4000, getComputedStyle: () => ({ getPropertyValue: () => "#123" }),
  matchMedia: () => ({ addEventListener: nothing }) };
"""


def run_page(page: Path, script: str):
    """Return what a script prints as JSON about a page; it defines `pen`, which draws."""
    stub = page.with_name("stub.js")
    stub.write_text(HOST + script)
    run = pyright.node.run("node", str(stub), str(page), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
