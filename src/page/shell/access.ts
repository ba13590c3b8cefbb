import { signal } from '@preact/signals'
import { Conversation } from '../chat/conversation.ts'
import { ApiError, ask, forgetAnswers, messageOf, send, whenSignedOut } from '../data/api.ts'
import { Live } from '../data/live.ts'
import { forgetChat, forgetToken, keepToken, token } from '../data/session.ts'
import { takeLinkCode } from './address.ts'

/** What there is while somebody is signed in. */
export interface Session {
  live: Live
  conversation: Conversation
}

/** How one may come in. `failure` is why the last try failed, `''` for none. */
export type SignIn = { by: 'token'; token: string; failure: string } | Link

/** A link that was followed. */
export interface Link {
  by: 'link'
  code: string
  /** The token that the tab had, `''` for none: the service ends its session. */
  before: string
  failure: string
}

/** Undefined while it is being found out. */
export const session = signal<Session | undefined>(undefined)
export const signIn = signal<SignIn | undefined>(undefined)

/** Goes up with every try to come in, and with leaving: what has begun before lets nobody in. */
let turn = 0

/** Comes in with the token that is kept. */
async function enter(): Promise<void> {
  const own = ++turn
  const live = new Live()
  try {
    await live.start()
  } catch (error) {
    // A token that is refused has been forgotten by now; one that could not be tried may be good, and is tried again by the button.
    const kept = token()
    if (own === turn && kept !== null) leave({ by: 'token', token: kept, failure: messageOf(error) })
    return
  }
  if (own !== turn) return live.stop()
  session.value = { live, conversation: new Conversation(live) }
  signIn.value = undefined
}

/** Ends what there was, and asks who it is. */
function leave(how: SignIn = { by: 'token', token: '', failure: '' }): void {
  turn++
  session.value?.conversation.close()
  session.value?.live.stop()
  session.value = undefined
  for (const dialog of document.querySelectorAll('dialog')) dialog.close()
  forgetToken()
  forgetAnswers()
  signIn.value = how
}

export function askForToken(): void {
  leave()
}

export async function signInByToken(given: string): Promise<void> {
  const own = ++turn
  const failed = (failure: string) => {
    signIn.value = { by: 'token', token: given, failure }
  }
  try {
    await ask('admin/api/state', { as: given })
    if (own !== turn) return
    keepToken(given)
    await enter()
  } catch (error) {
    if (own !== turn) return
    const status = error instanceof ApiError ? error.status : 0
    failed(status === 401 ? 'This token is not valid.' : status === 403 ? 'This token lacks the admin role.' : messageOf(error))
  }
}

export async function signInByLink(link: Link): Promise<void> {
  const own = ++turn
  try {
    const { token: given } = await ask('admin/api/sign-in', { method: 'POST', body: { code: link.code }, as: link.before })
    if (own !== turn) return endSession(given)
    keepToken(given)
    await enter()
  } catch (error) {
    if (own === turn) signIn.value = { ...link, failure: messageOf(error) }
  }
}

/** A session of a link ends at the service as well; where that can't be told, it ends by itself. */
function endSession(given: string): void {
  send('admin/api/session', { method: 'DELETE', as: given }).catch(() => {})
}

export function signOut(): void {
  endSession(token() ?? '')
  leave()
  forgetChat()
}

/**
 * Asks whoever has followed a link to sign in by it; true: somebody has. A link is used up by the button, not by looking: programs that open
 * links in messages press none.
 */
export function takeLink(): boolean {
  const code = takeLinkCode()
  if (code === undefined) return false
  leave({ by: 'link', code, before: token() ?? '', failure: '' })
  return true
}

/** Looks whether somebody is signed in, or has followed a link. */
export function start(): void {
  whenSignedOut(() => leave({ by: 'token', token: '', failure: 'The token is no longer accepted.' }))
  if (takeLink()) return
  if (token() === null) leave()
  else void enter()
}
