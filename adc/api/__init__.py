"""What users import beside the decorator: Jacobians, implicit functions, rules, functions of C."""
