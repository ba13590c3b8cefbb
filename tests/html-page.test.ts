import { describe, expect, it } from 'vitest'
import { withoutPage } from '../src/core/text/html-page.ts'
import { leastCpuMs } from './reference-pace.ts'

const nginx = `<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.27.2</center>\r\n</body>\r\n</html>\r\n${'<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n'.repeat(6)}`
const cloudflare = `<!DOCTYPE html>\n<!--[if lt IE 7]> <html class="no-js ie6 oldie" lang="en-US"> <![endif]-->\n<html class="no-js" lang="en-US"> <!--<![endif]-->\n<head>\n<title>mcp.example.com |\n 524: A timeout occurred</title>\n<style>${'a{b:c}'.repeat(2_000)}</style></head><body><h1><span>A timeout occurred</span></h1></body></html>`
const express = `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Error</title>\n</head>\n<body>\n<pre>Cannot POST /mcp</pre>\n</body>\n</html>\n`

describe('withoutPage', () => {
  it.each([
    ['the page of nginx', nginx, 'an HTML page titled "502 Bad Gateway"'],
    ['the page of Cloudflare', cloudflare, 'an HTML page titled "mcp.example.com | 524: A timeout occurred"'],
    ['the page of Express, whose title says nothing', express, 'an HTML page titled "Cannot POST /mcp"'],
    [
      'the page of Apache',
      '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>503 Service Unavailable</title>',
      'an HTML page titled "503 Service Unavailable"',
    ],
    [
      'the page of Tomcat',
      '<!doctype html><html lang="en"><head><title>HTTP Status 404 – Not Found</title></head>',
      'an HTML page titled "HTTP Status 404 – Not Found"',
    ],
    ['a page without a title', '<html><body><b>Http/1.1 Service Unavailable</b></body></html>', 'an HTML page'],
    [
      'a page with words before and after',
      `Error POSTing to endpoint: ${nginx} (again)`,
      'Error POSTing to endpoint: an HTML page titled "502 Bad Gateway" (again)',
    ],
    ['a page that was cut', nginx.slice(0, 60), 'an HTML page titled "502 Bad Gateway"'],
  ])('E2.9 describes %s in one line', (_, text, told) => {
    expect(withoutPage(text)).toBe(told)
  })

  it.each(['Expected <html> to have the attribute `lang`', 'no such element: <title>', '{"error":"<b>bold</b>"}', ''])(
    'E2.9 leaves text that only mentions HTML unchanged: %s',
    (text) => {
      expect(withoutPage(text)).toBe(text)
    },
  )

  it.each(['<html', '</html><!--', '<title', '<!doctype html><title', '<html><head><!--', '<html>\n', '<pre'])(
    'E2.9 takes linear time for endless %s',
    async (unit) => {
      const text = unit.repeat(65_536 / unit.length)
      expect(await leastCpuMs(500, () => withoutPage(`<html><head>${text}`))).toBeLessThan(500)
    },
  )
})
