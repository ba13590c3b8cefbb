/** Data stored for this tab: other tabs don't see it, and it is deleted when the tab closes. */
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

/** A conversation without its messages, which are stored in its runs. */
export interface KeptChat {
  /** The runs, each with the beginning of its input. */
  turns: { id: string; input: string }[]
  /** Earlier messages, including those of other conversations, the latest last. */
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
    // There is no space, so the previous data stays.
  }
}

export function forgetChat() {
  sessionStorage.removeItem(chatKey)
}
