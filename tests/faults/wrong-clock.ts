/** Puts the clock of this process, and of its threads, off by `CLOCK_OFF_BY_MS`. Loaded with `--import`. */
const offMs = Number(process.env.CLOCK_OFF_BY_MS ?? 0)
const RealDate = Date

class WrongDate extends RealDate {
  constructor(...given: []) {
    super(...(given.length === 0 ? ([RealDate.now() + offMs] as never) : given))
  }

  static override now(): number {
    return RealDate.now() + offMs
  }
}

globalThis.Date = WrongDate as DateConstructor
