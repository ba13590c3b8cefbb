// This is not a module, so that it runs before anything is painted and a dark page never flashes white.
{
  const saved = localStorage.getItem('toolloop.theme')
  if (saved === 'light' || saved === 'dark') document.documentElement.dataset.theme = saved
}
