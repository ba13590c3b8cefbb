import { useEffect, useRef } from 'preact/hooks'
import { messageOf } from '../data/api.ts'
import { retryNow } from '../data/sse.ts'
import { listQuery, runsHref } from '../runs/addresses.ts'
import { announce } from '../ui/announce.ts'
import { dropKeys, holdKeys } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { useLive } from '../ui/live-context.ts'
import { type Session, signOut } from './access.ts'
import { address, title } from './address.ts'
import { failed, Notices } from './notices.tsx'
import { places } from './places.ts'
import { showShortcuts, useShortcuts } from './shortcuts.ts'
import { ThemeButton } from './theme-button.tsx'
import { View } from './view.tsx'

/** Events in this time after the start are not announced to screen readers, in milliseconds. The event stream starts with past events. */
const oldEventsMs = 1_000
const paletteKey = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'

/** The frame around every view. */
export function Shell({ session }: { session: Session }) {
  const { live } = session
  const main = useRef<HTMLElement>(null)
  useShortcuts()
  useEffect(() => tellEvents(session), [session])
  useEffect(() => {
    const openIt = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      void showPalette(session)
    }
    // There is no event for changes of the configuration file, so the state is requested when the user returns to the page, possibly after
    // editing the file.
    const lookAgain = () => live.refresh()
    document.addEventListener('keydown', openIt)
    addEventListener('focus', lookAgain)
    return () => {
      document.removeEventListener('keydown', openIt)
      removeEventListener('focus', lookAgain)
    }
  }, [session, live])
  return (
    <div id="shell" class="shell">
      <SkipLink onSkip={() => main.current?.focus()} />
      <header class="top">
        <a class="brand" href="#/runs">
          <img src="icon.svg" alt="" width="24" height="24" /> toolloop
        </a>
        <Connection />
        <button
          id="palette-button"
          type="button"
          class="quiet palette-button"
          aria-haspopup="dialog"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => showPalette(session)}
        >
          <Icon name="search" />
          <span>Find</span>
          <kbd>{paletteKey}</kbd>
        </button>
        <button
          id="shortcuts-button"
          type="button"
          class="quiet icon-button"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={showShortcuts}
        >
          <Icon name="keyboard" />
        </button>
        <ThemeButton />
        <button id="sign-out" type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <nav class="nav" aria-label="Views">
        <ul id="nav">
          {places.map((place) => (
            <li key={place.name}>
              <PlaceLink {...place} />
            </li>
          ))}
        </ul>
      </nav>
      <div class="content">
        <Notices />
        <main ref={main} id="main" tabIndex={-1} data-view={address.value.place}>
          <View />
        </main>
      </div>
      <Title />
    </div>
  )
}

function Connection() {
  const { connection } = useLive()
  const words = { connecting: 'Connecting…', open: 'Live', lost: 'Connection lost', refused: 'Not connected' }[connection]
  return (
    <>
      <span id="connection" class={`connection ${connection}`} role="status">
        {words}
      </span>
      {connection === 'lost' && (
        <button type="button" class="quiet retry" onClick={retryNow}>
          Try again
        </button>
      )}
    </>
  )
}

function PlaceLink({ name, words, icon }: (typeof places)[number]) {
  const link = useRef<HTMLAnchorElement>(null)
  const isHere = address.value.place === name
  useEffect(() => {
    if (isHere) link.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [isHere])
  return (
    <a ref={link} href={name === 'runs' ? runsHref(listQuery.value) : `#/${name}`} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{words}</span>
      {name === 'approvals' && <WaitingCount />}
    </a>
  )
}

function WaitingCount() {
  const { length } = useLive().pending
  return (
    <span id="approvals-count" class="count" hidden={length === 0}>
      {length === 0 ? '' : length}
    </span>
  )
}

/** Sets the window title. Renders no elements. */
function Title() {
  const { length } = useLive().pending
  const text = `${length > 0 ? `(${length}) ` : ''}${title.value} · toolloop`
  useEffect(() => {
    document.title = text
  }, [text])
  return null
}

/** Tells screen reader users about events that may require action. Returns a function that stops the announcements. */
function tellEvents({ live }: Session): () => void {
  const timer = setTimeout(() => {
    live.onEvent((event) => {
      if (event.meta.parentRunId !== undefined) return
      if (event.type === 'DECISION_NEEDED') announce(`A call to ${event.tool} is waiting for a decision`)
      else if (event.type === 'RUN_END' && event.stopReason !== 'paused')
        announce(event.stopReason === 'answered' ? 'A run has ended' : `A run has ended: ${event.stopReason}`)
    })
  }, oldEventsMs)
  return () => clearTimeout(timer)
}

/** Opens the command palette, which is loaded on demand. */
async function showPalette(session: Session): Promise<void> {
  // Another dialog is open. The user must close it first.
  if (document.querySelector('dialog[open]:not(.palette)') !== null) return
  holdKeys()
  failed.value = ''
  try {
    const [{ openPalette }, { commandsOf }] = await Promise.all([import('./palette.tsx'), import('./commands.ts')])
    await openPalette(commandsOf(session))
  } catch (thrown) {
    failed.value = `Find could not be opened: ${messageOf(thrown)}`
  } finally {
    dropKeys()
  }
}

/** A link to a part of the page. It doesn't change the address, because the router uses the address. */
function SkipLink({ onSkip }: { onSkip: () => void }) {
  return (
    // biome-ignore lint/a11y/useValidAnchor: it is a link to those who hear it
    <a
      class="skip"
      href="#main"
      onClick={(event) => {
        event.preventDefault()
        onSkip()
      }}
    >
      Skip to content
    </a>
  )
}
