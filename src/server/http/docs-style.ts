/** The whole look of the docs page. Allowed by its hash alone, so it must be sent exactly as it stands here. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --line: #e0e3e8; --ground: #fff; --raised: #f6f7f9; --link: #0b60c9; --get: #0f7b45; --post: #0b60c9; --put: #9a5b00; --delete: #c02626; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a0a6b0; --line: #2c3036; --ground: #131518; --raised: #1b1e23; --link: #7db4ff; --get: #5fd39a; --post: #7db4ff; --put: #f0b45c; --delete: #ff8a8a; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; display: grid; grid-template-columns: 20rem minmax(0, 1fr); color: var(--ink); background: var(--ground); font: 15px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover, p a { text-decoration: underline; text-underline-offset: 2px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
code { white-space: nowrap; }
pre code, td code { white-space: inherit; }
code, pre, .verb { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .88em; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.25rem 1rem; border-right: 1px solid var(--line); background: var(--raised); }
nav .brand { margin: 0 0 .5rem; font-weight: 650; font-size: 1.1rem; }
nav .brand a { color: var(--ink); text-decoration: none; }
nav .home { margin: 0 0 .75rem; font-size: .82rem; }
nav small { color: var(--soft); font-weight: 400; }
nav h2 { margin: 1.1rem 0 .25rem; font-size: .75rem; text-transform: uppercase; letter-spacing: .06em; }
nav h2 a { color: var(--soft); }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li a { display: flex; gap: .5em; padding: .12rem .25rem; border-radius: 4px; color: var(--ink); font-size: .82rem; overflow-wrap: anywhere; }
nav li a:hover { background: var(--ground); text-decoration: none; }
.verb { display: inline-block; flex: none; min-width: 4.2em; font-weight: 650; }
.GET { color: var(--get); } .POST { color: var(--post); } .PUT { color: var(--put); } .DELETE { color: var(--delete); }
main { max-width: 60rem; padding: 2rem 2.5rem 6rem; }
h1 { margin: 0 0 .5rem; font-size: 1.9rem; }
section > h2 { margin: 3rem 0 0; padding-bottom: .4rem; border-bottom: 1px solid var(--line); font-size: 1.35rem; }
article { padding: 1.4rem 0; border-bottom: 1px solid var(--line); }
article:target h3 { box-shadow: -.6rem 0 0 var(--ground), -.8rem 0 0 var(--link); }
h3 { margin: 0; font-size: 1.02rem; overflow-wrap: anywhere; }
h3 .anchor { visibility: hidden; }
article:hover .anchor, .anchor:focus { visibility: visible; }
h4 { margin: 1rem 0 .3rem; font-size: .85rem; }
article p { margin: .4rem 0; }
.meta { display: flex; flex-wrap: wrap; gap: .3rem .5rem; }
.meta > span { padding: .05rem .5rem; border: 1px solid var(--line); border-radius: 99px; color: var(--soft); font-size: .8rem; }
.table { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .87rem; }
th { text-align: left; color: var(--soft); font-weight: 500; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; }
details { margin-top: .6rem; }
summary { cursor: pointer; color: var(--soft); font-size: .87rem; }
pre { padding: .9rem 1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--raised); }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.2rem; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; }
@media (max-width: 52rem) { body { display: block; } nav { position: static; height: auto; max-height: 40vh; border-right: 0; border-bottom: 1px solid var(--line); } main { padding: 1.25rem; } td:first-child, h3 code, .facts code, p code { white-space: normal; overflow-wrap: anywhere; } .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: .5rem; } }
`;
