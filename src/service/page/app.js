import { ApiError, ask, messageOf, send, whenSignedOut } from './data/api.js'
import { Live } from './data/live.js'
import { forgetChat, forgetToken, keepToken, token } from './data/session.js'
import { announce } from './ui/announce.js'
import { h, replace, setText } from './ui/dom.js'
import { icon } from './ui/icons.js'
import { notice } from './ui/notice.js'
import { openPalette } from './ui/palette.js'
import { goTo, listenForShortcuts, showShortcuts } from './ui/shortcuts.js'
import { approvalsView } from './views/approvals.js'
import { Chat } from './views/chat.js'
import { commandsOf } from './views/commands.js'
import { overviewView } from './views/overview.js'
import { runsView } from './views/runs.js'

/** @typedef {import('./types.js').View & { navigate?(id: string | undefined): void }} View */

/** @type {[name: string, words: string, icon: import('./ui/icons.js').IconName][]} */
const places = [
  ['overview', 'Overview', 'overview'],
  ['runs', 'Runs', 'runs'],
  ['approvals', 'Approvals', 'approvals'],
  ['chat', 'Chat', 'chat'],
  ['models', 'Models', 'models'],
  ['tools', 'Tools', 'tools'],
  ['config', 'Configuration', 'config'],
]

/**
 * @template {HTMLElement} El
 * @param {string} id
 * @param {new () => El} type
 * @returns {El}
 */
function byId(id, type) {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`The page has no ${id}`)
  return element
}

const shell = byId('shell', HTMLDivElement)
const signIn = byId('sign-in', HTMLElement)
const tokenForm = byId('token-form', HTMLFormElement)
const linkForm = byId('link-form', HTMLFormElement)
const linkError = byId('link-error', HTMLElement)
const tokenInput = byId('token', HTMLInputElement)
const tokenError = byId('token-error', HTMLElement)
const main = byId('main', HTMLElement)

/** What is there while somebody is signed in. @type {{ live: Live, chat: Chat, name: string, view: View | undefined } | undefined} */
let session

/** What hardly anybody comes for first is loaded when it is gone to. @type {Record<string, () => Promise<(context: { live: Live }, param?: string) => View>>} */
const laterViews = {
  models: () => import('./views/models.js').then(({ modelsView }) => modelsView),
  tools: () => import('./views/tools.js').then(({ toolsView }) => toolsView),
  config: () => import('./views/config.js').then(({ configView }) => configView),
}
/** Of these, what is there. @type {Record<string, (context: { live: Live }, param?: string) => View>} */
const loadedViews = {}

/** @param {string} name @param {{ focus?: boolean }} how */
async function loadView(name, how) {
  try {
    const view = await laterViews[name]?.()
    if (view !== undefined) loadedViews[name] = view
  } catch (thrown) {
    replace(
      main,
      h('p', { className: 'error-text', role: 'alert' }, `This view could not be loaded: ${messageOf(thrown)}. Reload the page.`),
    )
    return
  }
  route(how)
}

/** Shows what the address names. The heading gets the focus, so that keyboard and screen reader go on from there. */
function route({ focus = true } = {}) {
  if (session === undefined) return
  const { live, chat } = session
  const [, wanted = 'runs', id] = location.hash.split('/')
  const name = places.some(([place]) => place === wanted) ? wanted : 'runs'
  if (name in laterViews && loadedViews[name] === undefined) return void loadView(name, { focus })
  const param = id === undefined || id === '' ? undefined : decoded(id)
  if (session.name === name && session.view?.navigate !== undefined) session.view.navigate(param)
  else {
    session.view?.close?.()
    /** @type {Record<string, () => View>} */
    const views = {
      overview: () => overviewView({ live }, param),
      runs: () => runsView({ live }, param),
      approvals: () => approvalsView({ live }),
      chat: () => chat.show(),
    }
    session.view = views[name]?.() ?? loadedViews[name]?.({ live }, param)
    session.name = name
    main.replaceChildren(...(session.view === undefined ? [] : [session.view.element]))
    main.dataset.view = name
    main.parentElement?.scrollTo(0, 0)
  }
  showPlace()
  if (!focus) return
  const heading = main.querySelector(param === undefined ? 'h1' : 'h2')
  if (heading instanceof HTMLElement) heading.focus({ preventScroll: true })
}

/** @param {string} part Of an address, which anybody may have written. */
function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function showPlace() {
  if (session === undefined) return
  for (const link of document.querySelectorAll('#nav a')) {
    if (link.getAttribute('href') === `#/${session.name}`) {
      if (link.hasAttribute('aria-current')) continue
      link.setAttribute('aria-current', 'page')
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    } else link.removeAttribute('aria-current')
  }
  const waiting = session.live.pending.length
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${session.view?.title ?? ''} · toolloop`
}

function showLive() {
  if (session === undefined) return
  const { live } = session
  const connection = byId('connection', HTMLElement)
  connection.className = `connection ${live.connection}`
  setText(connection, { connecting: 'Connecting…', open: 'Live', lost: 'Connection lost', refused: 'Not connected' }[live.connection])
  const waiting = live.pending.length
  const badge = byId('approvals-count', HTMLElement)
  setText(badge, waiting > 0 ? String(waiting) : '')
  badge.hidden = waiting === 0
  showNotices(live.state?.config)
  showPlace()
}

/** What somebody has to see to, wherever they are. @param {import('./types.js').ConfigState | undefined} config */
function showNotices(config) {
  if (config === undefined) return
  const { lastError, needsRestart } = config
  /** @type {[kind: string, words: string][]} */
  const notices = []
  if (lastError !== null) {
    const problems = lastError.problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')
    notices.push(['error', `The configuration file is invalid; the previous configuration stays in use. ${problems}`])
  }
  if (needsRestart.length > 0) notices.push(['wait', `Changed in the configuration, in effect after a restart: ${needsRestart.join(', ')}`])
  const bar = byId('notices', HTMLElement)
  const key = JSON.stringify(notices)
  if (bar.dataset.shown === key) return
  bar.dataset.shown = key
  replace(bar, ...notices.map(([kind, words]) => notice(kind, words, h('a', { href: '#/config' }, 'Show'))))
}

/** What a screen reader is told of: not everything that happens, but what somebody may want to act upon. @param {any} event */
function tell({ type, meta, tool, stopReason }) {
  if (meta?.parentRunId !== undefined) return
  if (type === 'DECISION_NEEDED') announce(`A call to ${tool} is waiting for a decision`)
  else if (type === 'RUN_END' && stopReason !== 'paused')
    announce(stopReason === 'answered' ? 'A run has ended' : `A run has ended: ${stopReason}`)
}

async function enter() {
  const live = new Live()
  try {
    await live.start()
  } catch (error) {
    // A token that is refused has been forgotten by now; one that could not be tried may be good, and is tried again by the button.
    const kept = token()
    if (kept === null) return
    showSignIn(messageOf(error))
    tokenInput.value = kept
    return
  }
  signIn.hidden = true
  shell.hidden = false
  session = { live, chat: new Chat(live), name: '', view: undefined }
  live.onChange(showLive)
  // Events from before are shown, not told.
  setTimeout(() => live.onEvent(tell), 1_000)
  route()
}

/**
 * @param {string} [message]
 * @param {{ isLink?: boolean }} [options] `isLink`: by the link that was followed.
 */
function showSignIn(message = '', { isLink = false } = {}) {
  session?.view?.close?.()
  session?.chat.close()
  session?.live.stop()
  session = undefined
  main.replaceChildren()
  forgetToken()
  shell.hidden = true
  signIn.hidden = false
  linkForm.hidden = !isLink
  tokenForm.hidden = isLink
  document.title = 'Sign in · toolloop'
  tokenInput.value = ''
  linkError.textContent = ''
  failSignIn(message)
  if (isLink) linkForm.querySelector('button')?.focus()
  else tokenInput.focus()
}

function signOut() {
  // A session of a link ends at the service as well; where that can't be told, it ends by itself.
  send('admin/api/session', { method: 'DELETE', as: token() ?? '' }).catch(() => {})
  showSignIn()
  forgetChat()
}

function showPalette() {
  if (session === undefined) return
  const { live, chat } = session
  const theme = byId('theme-button', HTMLElement)
  const actions = [
    { group: 'Actions', name: theme.getAttribute('aria-label') ?? 'Colours', run: () => theme.click() },
    {
      group: 'Actions',
      name: 'New conversation',
      run: () => {
        location.hash = '#/chat'
        chat.restart()
      },
    },
    { group: 'Actions', name: 'Keyboard shortcuts', keys: '?', run: showShortcuts },
    { group: 'Actions', name: 'Sign out', run: signOut },
  ]
  const [, place, id = ''] = location.hash.split('/')
  const runId = place === 'runs' && id !== '' ? decoded(id) : undefined
  openPalette(commandsOf({ live, places, keys: goTo, actions, runId }))
}

/** @param {string} message */
function failSignIn(message) {
  tokenError.textContent = message
  if (message === '') tokenInput.removeAttribute('aria-invalid')
  else tokenInput.setAttribute('aria-invalid', 'true')
}

/** The code of the link that was followed last. */
let linkCode = ''

/** Takes the code out of the address, so that nobody reads it there or goes back to it; true: there is one. */
function takeLink() {
  const [, code] = /^#\/sign-in\/(.+)$/.exec(location.hash) ?? []
  if (code === undefined) return false
  history.replaceState(null, '', '#/runs')
  linkCode = decoded(code)
  // A link is used up by the button, not by looking: programs that open links in messages press none.
  showSignIn('', { isLink: true })
  return true
}

linkForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (linkForm.hasAttribute('aria-busy')) return
  linkForm.setAttribute('aria-busy', 'true')
  linkError.textContent = ''
  try {
    const { token: given } = await ask('admin/api/sign-in', { method: 'POST', body: { code: linkCode }, as: '' })
    keepToken(given)
    await enter()
  } catch (error) {
    linkError.textContent = messageOf(error)
  } finally {
    linkForm.removeAttribute('aria-busy')
  }
})
byId('use-token', HTMLElement).addEventListener('click', () => showSignIn())

tokenForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  const given = tokenInput.value.trim()
  if (given === '') {
    failSignIn('Enter a token')
    tokenInput.focus()
    return
  }
  try {
    await ask('admin/api/state', { as: given })
    failSignIn('')
    keepToken(given)
    await enter()
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 0
    failSignIn(status === 401 ? 'This token is not valid.' : status === 403 ? 'This token lacks the admin role.' : messageOf(error))
    tokenInput.select()
  }
})

replace(
  byId('nav', HTMLElement),
  ...places.map(([name, words, picture]) =>
    h(
      'li',
      {},
      h(
        'a',
        { href: `#/${name}` },
        icon(picture),
        h('span', {}, words),
        name === 'approvals' && h('span', { id: 'approvals-count', className: 'count', hidden: true }),
      ),
    ),
  ),
)
byId('theme-button', HTMLElement).append(icon('moon'), icon('sun'))
byId('shortcuts-button', HTMLElement).append(icon('keyboard'))
byId('shortcuts-button', HTMLElement).addEventListener('click', showShortcuts)
byId('sign-out', HTMLElement).addEventListener('click', signOut)
const paletteKey = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'
byId('palette-button', HTMLElement).append(icon('search'), h('span', {}, 'Find'), h('kbd', {}, paletteKey))
byId('palette-button', HTMLElement).addEventListener('click', showPalette)
document.addEventListener('keydown', (event) => {
  if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey || session === undefined)
    return
  event.preventDefault()
  showPalette()
})
// The address belongs to the router: a link to a part of the page is followed here.
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  main.focus()
})
addEventListener('hashchange', () => {
  if (!takeLink()) route()
})
// Changes of the configuration file are not among the events: whoever has just edited it sees them on coming back.
addEventListener('focus', () => session?.live.refresh())
whenSignedOut(() => showSignIn('The token is no longer accepted.'))
listenForShortcuts()
if (!takeLink()) {
  if (token() === null) showSignIn()
  else void enter()
}
