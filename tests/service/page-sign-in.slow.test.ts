import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { startService, token } from './start-service.ts'

describe.skipIf(!hasBrowser)('signing in to the admin page by a link, in a browser', () => {
  const open = useBrowser()

  it('SignIn by a link takes one press of a button; the code leaves the address at once, and is in no request’s address', async () => {
    const { service, url } = await startService({ model: scriptedModel([]), basePath: '/agent' })
    const link = service.signInLink(url)
    const hash = link.slice(link.indexOf('#'))
    const folder = '/agent/admin/'
    const page = await open(url, { folder, path: hash, signedIn: false })
    const asked: string[] = []
    page.on('request', (request) => asked.push(`${request.url()} ${JSON.stringify(request.headers())}`))
    const button = page.getByRole('button', { name: 'Sign in', exact: true })
    await button.and(page.locator(':focus')).waitFor()
    expect(new URL(page.url()).hash).toBe('#/runs')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    const kept = await page.evaluate<string[]>('Object.values(localStorage)')
    expect(kept).toHaveLength(1)
    expect(kept.join()).not.toContain(token)
    const code = hash.slice('#/sign-in/'.length)
    expect(asked.filter((one) => one.includes(code))).toEqual([])
    expect(await page.evaluate('document.referrer')).toBe('')

    // The same link again, in a tab that is signed in: it is used up, and a token can be given in its place.
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('a link signs in once').waitFor()
    await page.getByRole('button', { name: 'Use a token instead' }).click()
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Runs' }).waitFor()

    // Signing in by another link ends the session of the one before at the service.
    const signInByLink = async () => {
      await page.evaluate(`location.hash = ${JSON.stringify(service.signInLink(url).slice(link.indexOf('#')))}`)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('heading', { name: 'Runs' }).waitFor()
      return page.evaluate<string>('JSON.parse(Object.values(localStorage)[0]).token')
    }
    const stateOf = async (session: string | undefined) =>
      (await fetch(`${url}/agent/admin/api/state`, { headers: { authorization: `Bearer ${session}` } })).status
    const first = await signInByLink()
    expect(await stateOf(first)).toBe(200)
    const second = await signInByLink()
    expect(await stateOf(first)).toBe(401)
    expect(await stateOf(second)).toBe(200)

    // Signing out ends it as well.
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to toolloop' }).waitFor()
    await expect.poll(() => stateOf(second)).toBe(401)
  })

  it('SignIn and sign-out hold for all tabs of the browser; a service mounted elsewhere has its own sign-in', async () => {
    const { service, url } = await startService({ model: scriptedModel([]), basePath: '/agent' })
    const folder = '/agent/admin/'
    const page = await open(url, { folder, signedIn: false })
    const other = await page.context().newPage()
    onTestFinished(() => other.close())
    await other.goto(`${url}${folder}?signed-out`)
    const signIn = (one: Page) => one.getByRole('heading', { name: 'Sign in to toolloop' }).waitFor()
    const runs = (one: Page) => one.getByRole('heading', { name: 'Runs' }).waitFor()
    await signIn(other)
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await Promise.all([runs(page), runs(other)])
    await other.reload()
    await runs(other)
    expect(await other.evaluate('Object.keys(localStorage)')).toEqual(['toolloop.token:/agent/'])
    await other.getByRole('button', { name: 'Sign out' }).click()
    await Promise.all([signIn(page), signIn(other)])
    expect(await page.evaluate('localStorage.length')).toBe(0)

    // Opening a link signs out no other tab; using it signs in all of them.
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await Promise.all([runs(page), runs(other)])
    const link = service.signInLink(url)
    await other.evaluate(`location.hash = ${JSON.stringify(link.slice(link.indexOf('#')))}`)
    await signIn(other)
    await page.reload()
    await runs(page)
    await other.getByRole('button', { name: 'Sign in', exact: true }).click()
    await runs(other)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await page.evaluate('localStorage.length')).toBe(1)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await Promise.all([signIn(page), signIn(other)])

    // One that was last used long ago is not kept.
    await page.evaluate(
      `localStorage.setItem('toolloop.token:/agent/', ${JSON.stringify(JSON.stringify({ token, until: Date.now() - 1 }))})`,
    )
    await page.reload()
    await signIn(page)
  })
})
