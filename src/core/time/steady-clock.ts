/** How far the clock may be from what is expected of it before it is doubted, in milliseconds. */
const toleranceMs = 5 * 60_000
/** For how long a clock has to stay as it is until it is believed, in milliseconds: NTP looks at its servers every 1,024 s at least. */
const believedAfterMs = 20 * 60_000
/** For how long nobody may have noted the time before the clock is doubted at the start, in milliseconds: a job that runs once a day is not. */
const longestRestMs = 26 * 3_600_000

/** What outlives the process of a clock. Times in milliseconds since 1970. */
export interface NotedTime {
  now: number
  /** What the system's clock showed when it was first doubted, if it is. */
  doubtedSince: number | null
}

/**
 * The time since 1970 by which something expires. If the system's clock jumps, time goes on as if it had not, until the clock has stayed as it is for
 * twenty minutes. A machine that was asleep looks the same.
 */
export class SteadyClock {
  readonly #jumped: (message: string) => void
  /** How far this time is ahead of `performance.now()`. */
  #ahead: number
  /** The same of the system's clock, and since when (by `performance.now()`), if it is not believed. */
  #doubt: { ahead: number; since: number } | undefined

  /** `noted`: what an earlier clock has noted. `jumped` is called each time that the system's clock is doubted. */
  constructor(jumped: (message: string) => void, noted?: NotedTime) {
    this.#jumped = jumped
    const [steady, wall] = [performance.now(), Date.now()]
    this.#ahead = wall - steady
    if (noted === undefined) return
    const { now, doubtedSince } = noted
    const isExpected = (last: number) => wall - last >= -toleranceMs && wall - last <= longestRestMs
    if (isExpected(now)) return
    // A clock that was doubted for being off the other way was another process's: that says nothing of this one.
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
    const [steady, wall] = [performance.now(), Date.now()]
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
    this.#jumped(`The clock shows ${to}, where ${from} was expected: it was set, or the machine was asleep; ${until}`)
  }
}
