import { existsSync } from 'node:fs'
import { type Browser, type ConsoleMessage, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { token } from './start-service.ts'

/** Debian's package; elsewhere by its variable. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const hasBrowser: boolean = existsSync(executablePath)
if (!hasBrowser) console.warn(`SKIPPED: no page is tested, there is no browser at ${executablePath} (apt-get install chromium)`)

/** Parts of the browser that cost time and are not looked at; the list takes the place of Playwright's own. */
const unused = [
  'BackForwardCache',
  'HttpsUpgrades',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'SpareRendererForSitePerProcess',
  'Translate',
]

export interface OpenOptions {
  /** Behind the folder, such as `#/chat`. */
  path?: string
  /** Default `/admin/`. */
  folder?: string
  viewport?: { width: number; height: number }
  /** Whether the tab has a token already, as after a reload. Default true. */
  signedIn?: boolean
  /** What the page may complain about; everything else fails the test. Default: requests that the service refuses. */
  expected?: RegExp
}

/**
 * One browser with one tab for all tests of a file: a process for each test would cost more than the tests. They don't see each other: each
 * has its own service, and so an origin with its own storage.
 */
export function useBrowser(): (url: string, options?: OpenOptions) => Promise<Page> {
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--in-process-gpu',
        '--disable-software-rasterizer',
        `--disable-features=${unused.join(',')}`,
        '--disable-site-isolation-trials',
        '--enable-features=NetworkServiceInProcess2',
      ],
    })
    const context = await browser.newContext({ reducedMotion: 'reduce', colorScheme: 'light', deviceScaleFactor: 0.25 })
    context.setDefaultTimeout(10_000)
    const stored = JSON.stringify({ token, until: Date.now() + 12 * 3_600_000 })
    const keep = `localStorage.setItem('toolloop.token:' + new URL('..', location).pathname, ${JSON.stringify(stored)})`
    await context.addInitScript(`if (location.protocol === 'http:' && location.search !== '?signed-out') ${keep}`)
    page = await context.newPage()
    // The next test leaves the page, with or without unsaved text.
    page.on('dialog', (dialog) => void (dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss()))
  })
  afterAll(() => browser.close())

  return async (
    url,
    { path = '', folder = '/admin/', viewport = { width: 1024, height: 700 }, signedIn = true, expected = /^Failed to load resource/ } = {},
  ) => {
    const complaints: string[] = []
    const onError = (error: Error) => complaints.push(String(error))
    const onConsole = (message: ConsoleMessage) => {
      if (['error', 'warning'].includes(message.type()) && !expected.test(message.text())) complaints.push(message.text())
    }
    page.on('pageerror', onError)
    page.on('console', onConsole)
    onTestFinished(async () => {
      await page.goto('about:blank')
      page.off('pageerror', onError)
      page.off('console', onConsole)
      expect(complaints).toEqual([])
    })
    await page.setViewportSize(viewport)
    await page.goto(`${url}${folder}${signedIn ? '' : '?signed-out'}${path}`)
    return page
  }
}

/** The text in the editor of the configuration, which has only its visible lines on the page. */
export function configText(page: Page): Promise<string> {
  return page.evaluate<string>(`document.querySelector('#config-text')?.value ?? ''`)
}

/** Replaces that text, as by pasting. */
export async function writeConfigText(page: Page, text: string): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'Configuration file, as YAML' })
  await editor.focus()
  await page.keyboard.press('Control+a')
  await editor.evaluate((element, given) => {
    const { DataTransfer, ClipboardEvent } = element.ownerDocument.defaultView
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', given)
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, text)
}
