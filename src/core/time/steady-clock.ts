/** How far the system's clock may deviate from the expected time, in milliseconds. If it deviates more, it is no longer trusted. */
const toleranceMs = 5 * 60_000
/**
 * How long an untrusted clock must stay consistent until it is trusted again, in milliseconds. It is longer than 1,024 s, the longest
 * interval at which NTP asks its servers.
 */
const believedAfterMs = 20 * 60_000
/**
 * How long a process may have been stopped, in milliseconds. If the stored time is older, the system's clock is not trusted at the start.
 * The limit is long enough for a job that runs once a day.
 */
const longestRestMs = 26 * 3_600_000

/** The part of a clock's state that outlives its process. Times are in milliseconds since 1970. */
export interface NotedTime {
  now: number
  /** The time that the system's clock showed when it was first distrusted. Null if the clock is trusted. */
  doubtedSince: number | null
}

/**
 * Milliseconds since 1970 by a clock that nobody can set. `timeOrigin` is needed in tests that stop the clock: `performance.now()` then
 * starts at 0 again. Older fake timers replace `timeOrigin` by a function.
 */
function steadyNow(): number {
  const { timeOrigin } = performance
  return (Number.isFinite(timeOrigin) ? timeOrigin : 0) + performance.now()
}

/**
 * A clock for expiry, in milliseconds since 1970. If the system's clock jumps, this clock ignores the jump until the system's clock has
 * been consistent for twenty minutes. Waking from sleep also counts as a jump.
 */
export class SteadyClock {
  readonly #jumped: (message: string) => void
  /** The current time of this clock minus `steadyNow()`. */
  #ahead: number
  /**
   * Set while the system's clock is not trusted. `ahead`: the system's time minus `steadyNow()`. `since`: when the system's clock was first
   * distrusted, by `steadyNow()`.
   */
  #doubt: { ahead: number; since: number } | undefined

  /**
   * `noted`: the state that the clock of an earlier process stored. `jumped` is called each time the system's clock stops being trusted.
   */
  constructor(jumped: (message: string) => void, noted?: NotedTime) {
    this.#jumped = jumped
    const [steady, wall] = [steadyNow(), Date.now()]
    this.#ahead = wall - steady
    if (noted === undefined) return
    const { now, doubtedSince } = noted
    const isExpected = (last: number) => wall - last >= -toleranceMs && wall - last <= longestRestMs
    if (isExpected(now)) return
    // `doubtedSince` counts only if the earlier process's clock was wrong in the same direction.
    const isSameWay = doubtedSince !== null && doubtedSince < now === wall < now
    const doubtedMs = isSameWay ? wall - doubtedSince : Number.NaN
    const last = doubtedMs >= believedAfterMs ? wall - doubtedMs : now
    if (isExpected(last)) return
    this.#ahead = last - steady
    const isSame = doubtedMs >= 0 && doubtedMs < believedAfterMs
    this.#doubt = { ahead: wall - steady, since: isSame ? steady - doubtedMs : steady }
    this.#tell(last, wall)
  }

  now(): number {
    const [steady, wall] = [steadyNow(), Date.now()]
    const ahead = wall - steady
    const isNear = (other: number) => Math.abs(ahead - other) <= toleranceMs
    if (isNear(this.#ahead)) {
      this.#ahead = ahead
      this.#doubt = undefined
    } else if (this.#doubt === undefined || !isNear(this.#doubt.ahead)) {
      this.#doubt = { ahead, since: steady }
      this.#tell(steady + this.#ahead, wall)
    } else if (steady - this.#doubt.since >= believedAfterMs) {
      this.#ahead = ahead
      this.#doubt = undefined
    }
    return Math.round(steady + this.#ahead)
  }

  noted(): NotedTime {
    const now = this.now()
    return { now, doubtedSince: this.#doubt === undefined ? null : Math.round(this.#doubt.since + this.#doubt.ahead) }
  }

  #tell(expected: number, wall: number): void {
    const [from, to] = [expected, wall].map((time) => new Date(time).toISOString())
    const until = `nothing expires because of that until it has stayed so for ${believedAfterMs / 60_000} minutes`
    this.#jumped(`The clock shows ${to}, but ${from} was expected: it was set, or the machine was asleep; ${until}`)
  }
}
