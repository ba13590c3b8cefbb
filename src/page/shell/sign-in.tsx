import { useEffect, useRef, useState } from 'preact/hooks'
import { askForToken, type Link, type SignIn, signInByLink, signInByToken } from './access.ts'

/** Asks the user to sign in: with a token or, if the page was opened with a sign-in link, with a button. */
export function SignInView({ how }: { how: SignIn }) {
  useEffect(() => {
    document.title = 'Sign in · toolloop'
  }, [])
  return (
    <main id="sign-in" class="sign-in">
      {how.by === 'link' ? <LinkForm link={how} /> : <TokenForm how={how} />}
    </main>
  )
}

function Head() {
  return (
    <>
      <img src="icon.svg" alt="" width="40" height="40" />
      <h1>Sign in to toolloop</h1>
    </>
  )
}

function LinkForm({ link }: { link: Link }) {
  const button = useRef<HTMLButtonElement>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => button.current?.focus(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    setBusy(true)
    await signInByLink(link)
    setBusy(false)
  }
  return (
    <form class="sign-in-card" aria-busy={busy} onSubmit={submit}>
      <Head />
      <p class="muted">Your link signs in this browser, once. You stay signed in, in all its tabs, for 12 hours or until you sign out.</p>
      <p class="error-text" role="alert">
        {busy ? '' : link.failure}
      </p>
      <button ref={button} type="submit" class="primary">
        Sign in
      </button>
      <button type="button" class="quiet" onClick={askForToken}>
        Use a token instead
      </button>
    </form>
  )
}

function TokenForm({ how }: { how: SignIn & { by: 'token' } }) {
  const input = useRef<HTMLInputElement>(null)
  const [isEmpty, setIsEmpty] = useState(false)
  useEffect(() => {
    input.current?.focus()
    if (how.failure !== '') input.current?.select()
  }, [how])
  const submit = async (event: Event) => {
    event.preventDefault()
    const given = input.current?.value.trim() ?? ''
    setIsEmpty(given === '')
    if (given === '') input.current?.focus()
    else await signInByToken(given)
  }
  const message = isEmpty ? 'Enter a token' : how.failure
  return (
    <form class="sign-in-card" noValidate onSubmit={submit}>
      <Head />
      <p class="muted">
        Use a token with the <code>admin</code> role. All tabs of this browser keep it until you sign out, or for 12 hours after you last
        opened the page.
      </p>
      <label for="token">Token</label>
      <input
        ref={input}
        id="token"
        type="password"
        autocomplete="off"
        spellcheck={false}
        required
        defaultValue={how.token}
        aria-describedby="token-error"
        aria-invalid={message === '' ? undefined : 'true'}
      />
      <p id="token-error" class="error-text" role="alert">
        {message}
      </p>
      <button type="submit" class="primary">
        Sign in
      </button>
    </form>
  )
}
