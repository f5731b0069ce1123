import { closeSync, openSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium as engine, type Page } from 'playwright-core';
import { expect } from 'vitest';

const PACKAGE = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '..', '..');
const LOCK = join(tmpdir(), 'gateway-chromium.lock');
const LOCK_PATIENCE_MS = 60_000;
/** As root Chromium refuses its sandbox; the pages are our own. */
const ARGS = ['--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--force-color-profile=srgb'];

/** The browser that the package ships, unpacked once; two test files must not unpack it over one another. */
async function unpackBrowser(): Promise<string> {
  const endMs = Date.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      closeSync(openSync(LOCK, 'wx'));
      break;
    } catch {
      // A lock this old is of a run that was killed.
      if (Date.now() > endMs) rmSync(LOCK, { force: true });
      await sleep(100);
    }
  }
  try {
    return await chromium.executablePath();
  } finally {
    rmSync(LOCK, { force: true });
  }
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = await unpackBrowser();
  const launch = (env: Record<string, string>) =>
    engine.launch({
      executablePath,
      args: ARGS,
      env: { ...(process.env as Record<string, string>), ...env },
    });
  try {
    return await launch({});
  } catch (error) {
    if (!String(error).includes('shared libraries')) throw error;
    // A machine without the libraries Chromium links to: the package ships those too.
    const libraries = await inflate(join(PACKAGE, 'bin', 'al2023.tar.br'));
    return launch({ LD_LIBRARY_PATH: join(libraries, 'lib') });
  }
}

/** Everything a page complains about: refused by its policy, thrown, or asked of somebody else. */
export function watchComplaints(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    const text = message.text();
    // A refusal the page shows to its user is not a fault of the page.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) complaints.push(text);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) complaints.push(`asked ${url}`);
  });
  return complaints;
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** The serious things an accessibility checker finds on the page as it is now. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate((await import('node:fs')).readFileSync(AXE, 'utf8'));
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: {
        run: () => Promise<{
          violations: Array<{
            id: string;
            impact: string;
            nodes: Array<{ html: string; failureSummary: string }>;
          }>;
        }>;
      };
    };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`),
      );
  });
}

/** Waits until nothing is loading: no skeleton is left and the fonts are there. */
export async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.locator('.skeleton').count(), { timeout: 15_000 }).toBe(0);
  await page.evaluate(() => document.fonts.ready);
}
