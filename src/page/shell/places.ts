import type { IconName } from '../ui/icon.tsx'

/** A view of the page, with its entry in the navigation. */
export interface Place {
  name: 'overview' | 'runs' | 'sessions' | 'approvals' | 'chat' | 'models' | 'tools' | 'config'
  words: string
  icon: IconName
  /** The second key of the shortcut for the view. The first key is `g`. */
  key: string
}

export const places: readonly Place[] = [
  { name: 'overview', words: 'Overview', icon: 'overview', key: 'o' },
  { name: 'runs', words: 'Runs', icon: 'runs', key: 'r' },
  { name: 'sessions', words: 'Sessions', icon: 'sessions', key: 's' },
  { name: 'approvals', words: 'Approvals', icon: 'approvals', key: 'a' },
  { name: 'chat', words: 'Chat', icon: 'chat', key: 'c' },
  { name: 'models', words: 'Models', icon: 'models', key: 'm' },
  { name: 'tools', words: 'Tools', icon: 'tools', key: 't' },
  { name: 'config', words: 'Configuration', icon: 'config', key: 'f' },
]
