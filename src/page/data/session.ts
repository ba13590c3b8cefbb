/** Shared by the tabs of the browser. A service that is mounted elsewhere on this origin has its own. */
const tokenKey = `toolloop.token:${new URL('../', document.baseURI).pathname}`
/** How long a token is kept after its last use, in milliseconds. */
const longestMs = 12 * 3_600_000
/** Stored only for this tab, and deleted when the tab closes. */
const chatKey = 'toolloop.chat'

/** The token of this tab; undefined if it was not read yet. */
let current: string | null | undefined

export function token(): string | null {
  current ??= kept()
  return current
}

function kept(): string | null {
  try {
    const { token, until } = JSON.parse(localStorage.getItem(tokenKey) ?? '{}')
    return typeof token === 'string' && until > Date.now() ? token : null
  } catch {
    return null
  }
}

export function keepToken(value: string): void {
  current = value
  localStorage.setItem(tokenKey, JSON.stringify({ token: value, until: Date.now() + longestMs }))
}

/** Forgets the token in all tabs. */
export function forgetToken(): void {
  const own = token()
  current = null
  // If the token has changed, another tab has just signed in.
  if (kept() === own) localStorage.removeItem(tokenKey)
}

/** Calls `listener` with the new token when another tab has signed in, or with null when it has signed out. */
export function whenTokenChanges(listener: (token: string | null) => void): void {
  addEventListener('storage', ({ key }) => {
    if (key !== null && key !== tokenKey) return
    const now = kept()
    if (now === current) return
    current = now
    listener(now)
  })
}

/** A conversation without its messages, which are stored in its runs. */
export interface KeptChat {
  /** The runs, each with the beginning of its input. */
  turns: { id: string; input: string }[]
  /** Earlier messages, including those of other conversations, the latest last. */
  asked: string[]
  draft: string
  model: string
  /** The session of its runs; `''` before the first. */
  session: string
}

export function keptChat(): KeptChat {
  const nothing = { turns: [], asked: [], draft: '', model: '', session: '' }
  try {
    return { ...nothing, ...JSON.parse(sessionStorage.getItem(chatKey) ?? '{}') }
  } catch {
    return nothing
  }
}

export function keepChat(chat: KeptChat) {
  try {
    sessionStorage.setItem(chatKey, JSON.stringify(chat))
  } catch {
    // The browser's storage is full, so the previous data is kept.
  }
}

export function forgetChat() {
  sessionStorage.removeItem(chatKey)
}
