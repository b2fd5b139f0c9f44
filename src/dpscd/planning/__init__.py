"""From public facts to a calibrated plan, and what can be expected of it."""
