import { ending } from '../data/format.js'
import { setText } from '../ui/dom.js'

/** @typedef {import('../types.js').Run} Run */

/**
 * @param {Element} badge
 * @param {Pick<Run, 'status' | 'stopReason'>} run
 */
export function showBadge(badge, { status, stopReason }) {
  const kind =
    status === 'done'
      ? stopReason === 'answered' || stopReason === 'stopped'
        ? 'good'
        : stopReason === 'aborted'
          ? 'off'
          : 'bad'
      : status === 'paused'
        ? 'wait'
        : status
  badge.className = `badge ${kind}`
  setText(badge, status === 'running' ? 'running' : status === 'paused' ? 'waiting' : ending(stopReason))
}
