import { ask } from '../../ask.ts'

export async function GET(request) {
  const { searchParams } = new URL(request.url)
  return new Response(await ask(searchParams.get('model'), process.env.BASE_URL))
}
