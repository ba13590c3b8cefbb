import { useEffect } from 'preact/hooks'
import { LiveContext } from '../ui/live-context.ts'
import { loaded } from '../ui/loaded.tsx'
import { session, signIn, start, takeLink } from './access.ts'
import { Shell } from './shell.tsx'

const SignInView = loaded(() => import('./sign-in.tsx').then(({ SignInView }) => SignInView))

/** Shows the page, or the sign-in if the user is not signed in. */
export function App() {
  useEffect(start, [])
  useEffect(() => {
    addEventListener('hashchange', takeLink)
    return () => removeEventListener('hashchange', takeLink)
  }, [])
  if (session.value !== undefined)
    return (
      <LiveContext.Provider value={session.value.live}>
        <Shell session={session.value} />
      </LiveContext.Provider>
    )
  return signIn.value === undefined ? null : <SignInView how={signIn.value} />
}
