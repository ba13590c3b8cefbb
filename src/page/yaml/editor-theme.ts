import { EditorView } from '@codemirror/view'

/** Uses the colors of the page. Its custom properties also apply inside the editor's shadow root. */
export const theme = EditorView.theme({
  '&': {
    fontSize: '0.8125rem',
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    maxHeight: 'max(16rem, calc(100dvh - 19rem))',
    minHeight: '14rem',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', padding: '0.5rem 0' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', border: 'none' },
  '.cm-gutterElement.locked': { textDecoration: 'line-through' },
  '.cm-gutterElement.bad': { color: 'var(--bad)', fontWeight: '700' },
  '.cm-line.locked': { backgroundColor: 'var(--sunken)' },
  '.cm-line.bad': { backgroundColor: 'var(--bad-soft)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--line-strong)', borderRadius: '6px' },
  '.cm-tooltip.cm-completionInfo': { padding: '0.4rem 0.6rem', maxWidth: '22rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'inherit', maxHeight: '16rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.2rem 0.5rem' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
})
