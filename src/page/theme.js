// Not a module: it runs before anything is painted, so that a page that is to be dark is never white for a moment.
{
  const saved = localStorage.getItem('toolloop.theme')
  if (saved === 'light' || saved === 'dark') document.documentElement.dataset.theme = saved
}
