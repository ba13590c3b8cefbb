export function streamEnded(): Error {
  return new Error('the connection closed before the response arrived')
}
