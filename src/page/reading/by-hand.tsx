import { render } from 'preact'
import { toDom } from '../ui/dom-bridge.tsx'
import { Answer } from './answer.tsx'
import { LongText, TextFinder } from './long-text.tsx'
import type { TextBlocks } from './text-blocks.ts'
import { ValueView } from './value-view.tsx'

// For what is still made by hand.

export function valueView(value: unknown, label: string): HTMLElement {
  return toDom(<ValueView value={value} label={label} />)
}

export function longText(text: string, label: string): HTMLElement {
  return toDom(<LongText text={text} label={label} />)
}

export function finderOf(text: string, label: string, blocks: TextBlocks): HTMLElement {
  return toDom(<TextFinder text={text} label={label} rangeOf={(start, end) => blocks.rangeOf(start, end)} />)
}

export class AnswerByHand {
  readonly element: HTMLElement = document.createElement('div')
  #text = ''

  append(piece: string): void {
    this.#text += piece
    render(<Answer text={this.#text} isWriting />, this.element)
  }

  end(text: string): void {
    render(<Answer text={text} />, this.element)
  }
}
