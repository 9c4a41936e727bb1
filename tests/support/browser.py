"""Pages in a real browser: headless Chromium, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from support.need_tools import need_chromium

__all__ = ["OVERFLOW", "WIDTHS", "chromium", "drawn_again", "opened"]

#: Widths of the window in pixels: a screen, and half of one.
WIDTHS = (1280, 640)
#: A container has no sandbox and little shared memory, and the browser needs no network.
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


#: Script that returns the pixels by which a page is wider than its window.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


#: Script that returns whether all charts, or the timeline, are drawn.
DRAWN = """document.querySelectorAll(".chart:not(:has(svg))").length === 0 &&
  document.getElementById("range")?.textContent !== "" """


@contextmanager
def chromium() -> Iterator[Browser]:
    """Provide the browser."""
    path = need_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, file: Path, width: int = WIDTHS[0]) -> Iterator[Page]:
    """Provide the page of a file; raise if it logs an error or requests another file."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(f"request of {request.url}"))
    page.goto(file.as_uri())
    page.wait_for_function(DRAWN)
    yield page
    page.close()
    assert problems == [f"request of {file.as_uri()}"], problems


@contextmanager
def drawn_again(page: Page) -> Iterator[None]:
    """Wait until a timeline shows other cycles than before the actions of the context."""
    before = page.locator("#range").inner_text()
    yield
    script = "(before) => document.getElementById('range').innerText !== before"
    page.wait_for_function(script, arg=before)
