/** A reader is too slow if more than this number of bytes is waiting for it. */
const maxUnreadBytes = 1_048_576

/** Reports the end of a response. `gone`: the reader has disconnected or is too slow, so the unread bytes would fill the memory. */
export function watchedResponse(response: Response, onEnd: (ending: 'ended' | 'gone') => void): Response {
  const { body, status, headers } = response
  // Only event streams are written after the response is returned.
  if (body === null || headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    onEnd('ended')
    return response
  }
  const reader = body.getReader()
  let isOver = false
  const end = (ending: 'ended' | 'gone') => {
    if (!isOver) onEnd(ending)
    isOver = true
  }
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if ((controller.desiredSize ?? 0) <= 0) {
        controller.error(new Error('The reader is too slow'))
        await reader.cancel()
        return end('gone')
      }
      controller.enqueue(value)
    }
    end('ended')
    controller.close()
  }
  const watched = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        pump(controller).catch((error: unknown) => {
          end('gone')
          controller.error(error)
        })
      },
      cancel: async (reason) => {
        end('gone')
        await reader.cancel(reason)
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
  )
  return new Response(watched, { status, headers })
}
