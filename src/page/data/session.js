/** What this tab keeps: gone when the tab is closed, and in no other one. */
const tokenKey = 'toolloop.token'
const chatKey = 'toolloop.chat'

export function token() {
  return sessionStorage.getItem(tokenKey)
}

/** @param {string} value */
export function keepToken(value) {
  sessionStorage.setItem(tokenKey, value)
}

export function forgetToken() {
  sessionStorage.removeItem(tokenKey)
}

/**
 * A conversation, but for what was said in it: its runs have that.
 * @typedef {object} KeptChat
 * @property {{ id: string, input: string }[]} turns The runs, each with the beginning of what was asked.
 * @property {string[]} asked What was asked before, also in other conversations; the latest last.
 * @property {string} draft
 * @property {string} model
 */

/** @returns {KeptChat} */
export function keptChat() {
  const nothing = { turns: [], asked: [], draft: '', model: '' }
  try {
    return { ...nothing, ...JSON.parse(sessionStorage.getItem(chatKey) ?? '{}') }
  } catch {
    return nothing
  }
}

/** @param {KeptChat} chat */
export function keepChat(chat) {
  try {
    sessionStorage.setItem(chatKey, JSON.stringify(chat))
  } catch {
    // There is no room for it: what was kept before stays.
  }
}

export function forgetChat() {
  sessionStorage.removeItem(chatKey)
}
