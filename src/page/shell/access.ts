import { signal } from '@preact/signals'
import { Conversation } from '../chat/conversation.ts'
import { ApiError, ask, forgetAnswers, messageOf, send, whenSignedOut } from '../data/api.ts'
import { Live } from '../data/live.ts'
import { forgetChat, forgetToken, keepToken, token, whenTokenChanges } from '../data/session.ts'
import { takeLinkCode } from './address.ts'

/** The objects that exist while a user is signed in. */
export interface Session {
  live: Live
  conversation: Conversation
}

/** How the user can sign in. `failure` says why the last attempt failed; it is `''` if there was no attempt. */
export type SignIn = { by: 'token'; token: string; failure: string } | Link

/** A sign-in link that the user has opened. */
export interface Link {
  by: 'link'
  code: string
  /** The previous token of the tab, or `''`. When the link is used, the service ends the session of this token. */
  before: string
  failure: string
}

/** The session of the user. Undefined until it is known whether the user is signed in. */
export const session = signal<Session | undefined>(undefined)
export const signIn = signal<SignIn | undefined>(undefined)

/** A counter that increases with every attempt to sign in and when the user signs out. An increase cancels earlier attempts. */
let turn = 0

/** Signs in with the stored token. */
async function enter(): Promise<void> {
  const own = ++turn
  const live = new Live()
  try {
    await live.start()
  } catch (error) {
    // A refused token has already been deleted. Any other token may still be valid, so the user can try it again.
    const kept = token()
    if (own === turn && kept !== null) close({ by: 'token', token: kept, failure: messageOf(error) })
    return
  }
  if (own !== turn) return live.stop()
  keepToken(token() ?? '')
  session.value = { live, conversation: new Conversation(live) }
  signIn.value = undefined
}

/** Ends the session in all tabs, and asks the user to sign in. */
function leave(how: SignIn = { by: 'token', token: '', failure: '' }): void {
  close(how)
  forgetToken()
}

/** Ends the session in this tab only. `how` is the sign-in to show. */
function close(how: SignIn | undefined): void {
  turn++
  session.value?.conversation.close()
  session.value?.live.stop()
  session.value = undefined
  for (const dialog of document.querySelectorAll('dialog')) dialog.close()
  forgetAnswers()
  signIn.value = how
}

/** Called when another tab has signed in or out. */
function follow(given: string | null): void {
  forgetChat()
  close(given === null ? { by: 'token', token: '', failure: '' } : undefined)
  if (given !== null) void enter()
}

export function askForToken(): void {
  close({ by: 'token', token: '', failure: '' })
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

/** Ends a session at the service. If the request fails, the session expires later. */
function endSession(given: string): void {
  send('admin/api/session', { method: 'DELETE', as: given }).catch(() => {})
}

export function signOut(): void {
  endSession(token() ?? '')
  leave()
  forgetChat()
}

/**
 * If a sign-in link was opened, asks the user to sign in with it, and returns true. The link is used up only when the user presses the
 * button, because programs that open links in messages don't press buttons.
 */
export function takeLink(): boolean {
  const code = takeLinkCode()
  if (code === undefined) return false
  // Only this tab is signed out, so that other tabs stay signed in until the link has been used.
  close({ by: 'link', code, before: token() ?? '', failure: '' })
  return true
}

/** Checks whether the user is signed in, or has opened a link. */
export function start(): void {
  whenSignedOut(() => leave({ by: 'token', token: '', failure: 'The token is no longer accepted.' }))
  whenTokenChanges(follow)
  if (takeLink()) return
  if (token() === null) leave()
  else void enter()
}
