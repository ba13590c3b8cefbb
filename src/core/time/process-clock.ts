import { defaultLogger } from '../logger.ts'
import { SteadyClock } from './steady-clock.ts'

/** The time by which what this process has in its memory expires. */
export const processClock: SteadyClock = new SteadyClock((message) => defaultLogger.warn({}, message))
