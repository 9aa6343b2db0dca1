"""What programs of the prelude are made of: functions of matrices that are compiled once, with derivatives by closed forms."""
