/** What this tab keeps: gone when the tab is closed, and in no other one. */
const tokenKey = 'toolloop.token'
const chatKey = 'toolloop.chat'

export function token() {
  return sessionStorage.getItem(tokenKey)
}

export function keepToken(value: string) {
  sessionStorage.setItem(tokenKey, value)
}

export function forgetToken() {
  sessionStorage.removeItem(tokenKey)
}

/** A conversation, but for what was said in it: its runs have that. */
export interface KeptChat {
  /** The runs, each with the beginning of what was asked. */
  turns: { id: string; input: string }[]
  /** What was asked before, also in other conversations; the latest last. */
  asked: string[]
  draft: string
  model: string
}

export function keptChat(): KeptChat {
  const nothing = { turns: [], asked: [], draft: '', model: '' }
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
    // There is no room for it: what was kept before stays.
  }
}

export function forgetChat() {
  sessionStorage.removeItem(chatKey)
}
