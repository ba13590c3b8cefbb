import { Session } from 'node:inspector'

const src = new URL('../src/', import.meta.url).href

/** Returns a function that gives the files of src in which a function was called since the last time. */
export function watchCalledFiles(): () => string[] {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return () => {
    let called: string[] = []
    session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error
      const isCalled = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
      called = isCalled.flatMap(({ url }) => (url.startsWith(src) ? [url.slice(src.length)] : []))
    })
    return called
  }
}
