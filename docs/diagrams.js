// Draws the Mermaid diagrams of a page. Without a network they stay text, and the page works.
import("https://unpkg.com/mermaid@11/dist/mermaid.esm.min.mjs")
  .then(async ({ default: mermaid }) => {
    mermaid.initialize({ startOnLoad: false });
    for (const [number, block] of document.querySelectorAll("pre.diagram").entries()) {
      const { svg } = await mermaid.render(`diagram-${number}`, block.textContent);
      block.outerHTML = svg;
    }
  })
  .catch(() => {});
