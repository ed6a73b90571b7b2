/** A text field with a list of what can be meant, as ARIA 1.2 has it: the focus stays in the field. */
import React from 'react';

export interface IOption {
  readonly key: string;
  readonly text: string;
  readonly hint?: string;
  /** Said above the first of its group. */
  readonly group?: string;
}

interface IComboboxProps {
  readonly label: string;
  readonly listLabel: string;
  readonly placeholder: string;
  readonly value: string;
  readonly options: readonly IOption[];
  /** Whether the list stays although the field was left with nothing chosen. */
  readonly isOpen: boolean;
  readonly describedBy?: string;
  readonly invalid?: boolean;
  readonly autoFocus?: boolean;
  readonly onElement?: (field: HTMLInputElement | null) => void;
  readonly onChange: (value: string, cursor: number) => void;
  readonly onPick: (option: IOption) => void;
  /** Enter with no option chosen. */
  readonly onEnter?: () => void;
  /** Ctrl+Space, or arrow down in a closed list. */
  readonly onAsk?: (cursor: number) => void;
  /** Escape, or the field was left. */
  readonly onClose: (byKey: boolean) => void;
}

function Options(props: {
  id: string;
  label: string;
  options: readonly IOption[];
  at: number;
  onPick: (option: IOption) => void;
}): React.JSX.Element {
  const { id, label, options, at, onPick } = props;
  const chosen = React.useRef<HTMLDivElement>(null);
  // In braces: browsers begin to give a promise, which is no way to clean up.
  React.useEffect(() => {
    chosen.current?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <div className="jp-air-Options" role="listbox" id={id} aria-label={label}>
      {options.map((option, i) => (
        <React.Fragment key={option.key}>
          {option.group !== undefined && option.group !== options.at(i - 1)?.group && (
            <div className="jp-air-Options-group" role="presentation">
              {option.group}
            </div>
          )}
          <div
            ref={i === at ? chosen : undefined}
            role="option"
            id={`${id}-${i}`}
            className="jp-air-Option"
            aria-selected={i === at}
            // The field keeps the focus.
            onPointerDown={event => event.preventDefault()}
            onClick={() => onPick(option)}
          >
            <bdi className="jp-air-Option-text" title={option.text.slice(0, 500)}>
              {option.text}
            </bdi>
            {option.hint && <span className="jp-air-Option-hint">{option.hint}</span>}
          </div>
        </React.Fragment>
      ))}
    </div>
  );
}

export function Combobox(props: IComboboxProps): React.JSX.Element {
  const { options, value, onPick, onClose, onElement } = props;
  const id = React.useId();
  const [at, setAt] = React.useState(-1);
  const isOpen = props.isOpen && options.length > 0;
  const chosen = isOpen && at < options.length ? at : -1;
  const pick = (option: IOption): void => {
    setAt(-1);
    onPick(option);
  };
  const step = (by: number): void =>
    setAt((chosen + by + options.length + (chosen < 0 && by < 0 ? 1 : 0)) % options.length);
  const onKeyDown = (event: React.KeyboardEvent<HTMLInputElement>): void => {
    const cursor = event.currentTarget.selectionStart ?? value.length;
    const key = event.ctrlKey && event.key === ' ' ? 'Ask' : event.key;
    if (isOpen && (key === 'ArrowDown' || key === 'ArrowUp')) {
      step(key === 'ArrowDown' ? 1 : -1);
    } else if (chosen >= 0 && (key === 'Enter' || key === 'Tab')) {
      pick(options[chosen]);
    } else if (key === 'Enter') {
      props.onEnter?.();
    } else if (key === 'Ask' || key === 'ArrowDown') {
      props.onAsk?.(cursor);
    } else if (key === 'Escape') {
      setAt(-1);
      onClose(true);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <input
        ref={onElement}
        type="text"
        role="combobox"
        className="jp-air-Search"
        aria-label={props.label}
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        aria-describedby={props.describedBy}
        aria-invalid={props.invalid ? true : undefined}
        placeholder={props.placeholder}
        spellCheck={false}
        autoComplete="off"
        maxLength={2000}
        autoFocus={props.autoFocus}
        value={value}
        onChange={event => {
          setAt(-1);
          props.onChange(event.target.value, event.target.selectionStart ?? event.target.value.length);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => {
          setAt(-1);
          onClose(false);
        }}
      />
      {isOpen && <Options id={id} label={props.listLabel} options={options} at={chosen} onPick={pick} />}
    </>
  );
}
