"""The rendered pages: all links hold, and the search works in a browser without a network."""

import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.browser import chromium

ROOT = Path(__file__).parents[3]


class Quiet(SimpleHTTPRequestHandler):
    """Server of files without a log."""

    def log_request(self, code="-", size="-"):
        pass


@pytest.fixture
def site(tmp_path):
    """Return the address of the rendered pages on a server."""
    script = [sys.executable, ROOT / "docs" / "website.py", "--output", tmp_path]
    subprocess.run(script, check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.full
def test_the_search_of_each_page_finds_others(site):
    """The diagram of the first page comes from the network, which this browser does not have."""

    def serve(route):
        """Answer a request of a file of the site; no other arrives."""
        route.continue_() if route.request.url.startswith(site) else route.abort()

    with chromium() as browser:
        for path in ("index.html", "docs/tutorial.html", "docs/api.html"):
            page = browser.new_page()
            page.set_default_timeout(180_000)  # a busy machine needs more than the usual 30 s
            page.route("**/*", serve)
            errors: list[str] = []
            page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            page.goto(f"{site}/{path}")
            page.click("input[name=query]")
            page.keyboard.type("scoreboard")
            results = page.locator(".md-search-result__item")
            results.first.wait_for()
            assert results.count() > 5 and not errors, path
