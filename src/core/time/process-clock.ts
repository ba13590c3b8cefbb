import { defaultLogger } from '../logger.ts'
import { SteadyClock } from './steady-clock.ts'

/** The clock that decides when entries in this process's memory expire. */
export const processClock: SteadyClock = new SteadyClock((message) => defaultLogger.warn({}, message))
