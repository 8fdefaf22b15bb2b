// Opens pages in chromium and checks what only a browser can: that nothing is requested from elsewhere, that nothing violates the
// Content-Security-Policy, that sections fold and unfold, that links lead somewhere, and that axe finds no serious violation, in light
// and in dark. Run by a test of `crates/kiln`, with the modules of `tests/browser/up`.
//
// Arguments: a JSON object with `chromium` (the name of the program), `pages` (name and address of each) and `screenshots` (a directory, or null).

const fs = require('fs');
const path = require('path');

const modules = path.join(process.env.KILN_BROWSER_DIR, 'node_modules');
const { chromium } = require(path.join(modules, 'playwright-core'));
const axe = fs.readFileSync(path.join(modules, 'axe-core', 'axe.min.js'), 'utf8');

const MAX_PAGES = 100;
const input = JSON.parse(process.argv[2]);
const failures = [];

function fail(where, what) {
  failures.push(`${where}: ${what}`);
}

// The part of an address that all requests must share.
function home(address) {
  const url = new URL(address);
  return url.protocol === 'file:' ? url.href.split('#')[0] : url.origin + '/';
}

async function open(context, address) {
  const page = await context.newPage();
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(home(address)) && !url.startsWith('data:')) fail(address, `requests ${url}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') fail(address, `console: ${message.text()}`);
  });
  page.on('pageerror', (error) => fail(address, `script: ${error.message}`));
  const response = await page.goto(address, { waitUntil: 'load' });
  if (response && response.status() !== 200) fail(address, `status ${response.status()}`);
  return page;
}

// Every section can be folded and unfolded with the keyboard.
async function fold(page, address) {
  const summaries = page.locator('details > summary');
  const count = Math.min(await summaries.count(), 10);
  for (let number = 0; number < count; number++) {
    const summary = summaries.nth(number);
    const isOpen = () => summary.evaluate((node) => node.parentElement.open);
    if (!(await summary.isVisible())) continue;
    const before = await isOpen();
    await summary.focus();
    await page.keyboard.press('Enter');
    if ((await isOpen()) === before) fail(address, `section ${number} does not fold`);
    await page.keyboard.press('Enter');
    if ((await isOpen()) !== before) fail(address, `section ${number} does not unfold`);
  }
  return count;
}

// Links inside of the page lead to elements; returns the addresses of other pages.
async function links(page, address) {
  const targets = await page.locator('a[href]').evaluateAll((nodes) => nodes.map((node) => node.href.baseVal ?? node.href));
  const others = new Set();
  for (const target of targets) {
    const url = new URL(target, address);
    if (url.hash && url.href.split('#')[0] === address.split('#')[0]) {
      const id = decodeURIComponent(url.hash.slice(1));
      const raw = url.hash.slice(1);
      const exists = await page.evaluate(([a, b]) => !!(document.getElementById(a) || document.getElementById(b)), [id, raw]);
      if (!exists) fail(address, `#${raw} leads nowhere`);
    } else if (!url.href.startsWith(home(address))) {
      fail(address, `links to ${url.href}`);
    } else if (!url.searchParams.has('refresh')) {
      others.add(url.href);
    }
  }
  return others;
}

// Serious and critical violations of accessibility. Axe is a script, which only this context allows.
async function accessibility(browser, address, colorScheme) {
  const context = await browser.newContext({ bypassCSP: true, colorScheme });
  const page = await context.newPage();
  await page.goto(address, { waitUntil: 'load' });
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  for (const violation of found.violations) {
    if (violation.impact === 'serious' || violation.impact === 'critical') {
      const nodes = violation.nodes.map((node) => node.target.join(' ')).slice(0, 5);
      fail(`${address} (${colorScheme})`, `axe ${violation.id}: ${violation.help}: ${nodes.join(', ')}`);
    }
  }
  await context.close();
}

// The path of a program, which playwright does not search for.
function find(program) {
  const places = process.env.PATH.split(':').map((place) => path.join(place, program));
  return places.find((place) => fs.existsSync(place));
}

async function main() {
  const browser = await chromium.launch({ executablePath: find(input.chromium), args: ['--no-sandbox', '--force-color-profile=srgb'] });
  let opened = 0;
  let folded = 0;
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1100, height: 760 } });
    for (const { name, address } of input.pages) {
      const waiting = [address];
      const seen = new Set();
      while (waiting.length > 0 && seen.size < MAX_PAGES) {
        const next = waiting.pop();
        if (seen.has(next)) continue;
        seen.add(next);
        if (next.endsWith('.json')) continue;
        const page = await open(context, next);
        opened += 1;
        if (next === address && input.screenshots) {
          await page.screenshot({ path: path.join(input.screenshots, `${name}-${colorScheme}.png`) });
        }
        folded += await fold(page, next);
        for (const other of await links(page, next)) waiting.push(other);
        await page.close();
        if (next === address || seen.size <= 12) await accessibility(browser, next, colorScheme);
      }
    }
    await context.close();
  }
  await browser.close();
  if (opened === 0 || folded === 0) fail('all', 'nothing was opened or folded');
  for (const failure of [...new Set(failures)]) console.log(failure);
  console.log(`${opened} pages opened, ${folded} sections folded, ${failures.length} failures`);
  process.exit(failures.length > 0 ? 1 : 0);
}

main().catch((error) => {
  console.log(error.stack);
  process.exit(2);
});
