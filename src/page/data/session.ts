/**
 * The storage key of the token, which all tabs of the browser share. The key contains the path, because another service may be mounted on
 * the same origin.
 */
const tokenKey = `toolloop.token:${new URL('../', document.baseURI).pathname}`
/** How long a token is kept after its last use, in milliseconds. */
const longestMs = 12 * 3_600_000
/** The storage key of the conversation. It is stored only for this tab, and deleted when the tab closes. */
const chatKey = 'toolloop.chat'

/** The token of this tab. Undefined until it is read from the storage. */
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
  // If the stored token differs, another tab has just signed in, so the new token is kept.
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

/** A conversation as the browser stores it. The service stores its messages, with the runs. */
export interface KeptChat {
  /** The runs of the conversation, each with the beginning of its input. */
  turns: { id: string; input: string }[]
  /** Earlier messages of the user, including those of other conversations. The latest comes last. */
  asked: string[]
  draft: string
  model: string
  /** The session of the conversation's runs. `''` before the first run. */
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
    // The browser's storage is full.
  }
}

export function forgetChat() {
  sessionStorage.removeItem(chatKey)
}
