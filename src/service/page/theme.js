// Not a module: it runs before anything is painted, so that a page that is to be dark is never white for a moment.
{
  const key = 'toolloop.theme'
  const root = document.documentElement
  const saved = localStorage.getItem(key)
  if (saved === 'light' || saved === 'dark') root.dataset.theme = saved
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
  const isDark = () => (root.dataset.theme ?? (systemIsDark.matches ? 'dark' : 'light')) === 'dark'
  const show = () => {
    const button = document.getElementById('theme-button')
    const words = isDark() ? 'Light colours' : 'Dark colours'
    button?.setAttribute('aria-label', words)
    button?.setAttribute('title', words)
    button?.classList.toggle('is-dark', isDark())
  }
  addEventListener('DOMContentLoaded', () => {
    show()
    systemIsDark.addEventListener('change', show)
    document.getElementById('theme-button')?.addEventListener('click', () => {
      const wanted = isDark() ? 'light' : 'dark'
      // What the system says anyway need not be remembered: then the page follows it again.
      if ((wanted === 'dark') === systemIsDark.matches) {
        delete root.dataset.theme
        localStorage.removeItem(key)
      } else {
        root.dataset.theme = wanted
        localStorage.setItem(key, wanted)
      }
      show()
    })
  })
}
