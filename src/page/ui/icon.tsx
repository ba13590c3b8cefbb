const shapes = {
  overview: 'M4 20V10M10 20V4M16 20v-7M20 20H3',
  runs: 'M3 12h4l2.5-7 5 14 2.5-7h4',
  sessions: 'M3 5h12v8H8l-3 3v-3H3zM18 9h3v8h-2v3l-3-3h-5',
  approvals: 'M12 3l7 3v5.5c0 4.3-2.9 7.6-7 9.5-4.1-1.9-7-5.2-7-9.5V6zM9 12l2.2 2.2L15.2 10',
  chat: 'M4 5h16v11H11l-5 4v-4H4z',
  models: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  tools: 'M14.5 6.2a4.2 4.2 0 0 1 5.3 5.2l-2.6-2.6-2 2 2.6 2.6a4.2 4.2 0 0 1-5.2-5.3L5 16v3h3l7.6-7.6',
  config: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M7 7l10 10M17 7L7 17',
  dots: 'M6 12h.01M12 12h.01M18 12h.01',
  hand: 'M12 7v6M12 17h.01',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  keyboard: 'M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M17 11h.01M8 14h8',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L20 20',
  back: 'M14 6l-6 6 6 6',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  code: 'M8.5 7l-5 5 5 5M15.5 7l5 5-5 5',
}
export type IconName = keyof typeof shapes

/** A small icon. Screen readers ignore it, because there is always a word next to it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 24 24" class="icon" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  )
}
