const key = 'toolloop.token'

/** The token of this tab: gone when the tab is closed, and in no other one. */
export function token() {
  return sessionStorage.getItem(key)
}

/** @param {string} value */
export function keepToken(value) {
  sessionStorage.setItem(key, value)
}

export function forgetToken() {
  sessionStorage.removeItem(key)
}
