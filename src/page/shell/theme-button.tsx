import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'

const key = 'toolloop.theme'
const systemIsDark = matchMedia('(prefers-color-scheme: dark)')

function isDark(): boolean {
  return (document.documentElement.dataset.theme ?? (systemIsDark.matches ? 'dark' : 'light')) === 'dark'
}

/**
 * A button that switches between light and dark. The page uses the system's theme until the user chooses one. `theme.js` applies the choice
 * before anything is painted.
 */
export function ThemeButton() {
  const [dark, setDark] = useState(isDark)
  useEffect(() => {
    const follow = () => setDark(isDark())
    systemIsDark.addEventListener('change', follow)
    return () => systemIsDark.removeEventListener('change', follow)
  }, [])
  const toggle = () => {
    const wanted = dark ? 'light' : 'dark'
    // If the choice equals the system's theme, it is not stored, so that the page follows the system again.
    if ((wanted === 'dark') === systemIsDark.matches) {
      delete document.documentElement.dataset.theme
      localStorage.removeItem(key)
    } else {
      document.documentElement.dataset.theme = wanted
      localStorage.setItem(key, wanted)
    }
    setDark(!dark)
  }
  const words = dark ? 'Light colors' : 'Dark colors'
  return (
    <button id="theme-button" type="button" class="quiet icon-button" aria-label={words} title={words} onClick={toggle}>
      <Icon name={dark ? 'sun' : 'moon'} />
    </button>
  )
}
