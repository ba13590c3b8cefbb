import { Menu } from '../ui/controls/menu.tsx'
import { useNewId } from '../ui/new-id.ts'
import { columns, resetColumns, showColumn, shownColumns } from './columns.tsx'

/** A menu in which the user chooses the columns of the table. */
export function ColumnMenu() {
  const id = useNewId()
  return (
    <Menu words="Columns">
      <fieldset class="menu-list">
        <legend class="visually-hidden">Columns</legend>
        {columns.map(({ name, words }) => (
          <span key={name} class="check-row">
            <input
              id={`${id}-${name}`}
              type="checkbox"
              checked={shownColumns.value.includes(name)}
              onChange={({ currentTarget }) => showColumn(name, currentTarget.checked)}
            />
            <label for={`${id}-${name}`}>{words}</label>
          </span>
        ))}
      </fieldset>
      <button type="button" class="quiet" onClick={resetColumns}>
        Reset columns
      </button>
    </Menu>
  )
}
