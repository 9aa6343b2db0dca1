// adc opt --passes=distribute-products,canonicalize,cse
// The adjoint of a product that is written as three loops: its two products are apart from what they multiply, if sums are long and
// there are some rows and columns. A scale that is multiplied last may come first if it is moderate; if it is
// an element, that is read if the nest has iterations. A loop that adds to what it reads elsewhere stays, and so do a few rows.

func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %y: memref<?x?xf64>, %a_bar: memref<?x?xf64>, %b_bar: memref<?x?xf64>) {
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %k = memref.dim %a, 1 : memref<?x?xf64>
  %m = memref.dim %b, 1 : memref<?x?xf64>
  %last_row = arith.addi %n, %c-1 : index
  %last_term = arith.addi %k, %c-1 : index
  scf.for %p = %c0 to %n step %c1 {
    %i = arith.subi %last_row, %p : index
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %s = memref.load %y[%i, %j] : memref<?x?xf64>
      %g = arith.addf %s, %s fastmath<contract> : f64
      scf.for %r = %c0 to %k step %c1 {
        %l = arith.subi %last_term, %r : index
        %u = memref.load %a[%i, %l] : memref<?x?xf64>
        %v = memref.load %b[%l, %j] : memref<?x?xf64>
        %to_a = arith.mulf %g, %v fastmath<contract> : f64
        %to_b = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %to_a, %a_bar[%i, %l] : memref<?x?xf64>
        adc.accumulate %to_b, %b_bar[%l, %j] : memref<?x?xf64>
        scf.yield
      }
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

func.func @stays(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %y_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %g = memref.load %y_bar[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %n step %c1 {
        %u = memref.load %a[%l, %j] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %t, %y_bar[%i, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @scaled(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %alpha: f64, %b_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %k = memref.dim %a, 1 : memref<?x?xf64>
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %g = memref.load %y[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %k step %c1 {
        %u = memref.load %a[%i, %l] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        %s = arith.mulf %t, %alpha fastmath<contract> : f64
        adc.accumulate %s, %b_bar[%j, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @few_rows(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %b_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %k = memref.dim %a, 1 : memref<?x?xf64>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %g = memref.load %y[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %k step %c1 {
        %u = memref.load %a[%i, %l] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %t, %b_bar[%j, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @by_element(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %w: memref<?xf64>, %y_bar: memref<?x?xf64>, %a_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %m = memref.dim %y, 1 : memref<?x?xf64>
  %k = memref.dim %a, 1 : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %h = memref.load %y_bar[%i, %j] : memref<?x?xf64>
      %s = memref.load %y[%i, %j] : memref<?x?xf64>
      %g = arith.mulf %h, %s fastmath<contract> : f64
      %nothing = arith.cmpf oeq, %g, %zero : f64
      scf.for %l = %c0 to %k step %c1 {
        %u = memref.load %y[%l, %j] : memref<?x?xf64>
        %v = arith.select %nothing, %zero, %u : f64
        %t = arith.mulf %g, %v fastmath<contract> : f64
        %p = memref.load %w[%c1] : memref<?xf64>
        %q = arith.select %nothing, %zero, %p : f64
        %r = arith.mulf %t, %q fastmath<contract> : f64
        adc.accumulate %r, %a_bar[%i, %l] : memref<?x?xf64>
        scf.yield
      }
      memref.store %g, %y_bar[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %y: memref<?x?xf64>, %a_bar: memref<?x?xf64>, %b_bar: memref<?x?xf64>) {
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %true = arith.constant true : i1
  %false = arith.constant false : i1
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %k = memref.dim %a, 1 : memref<?x?xf64>
  %m = memref.dim %b, 1 : memref<?x?xf64>
  %last_row = arith.addi %n, %c-1 : index
  %last_term = arith.addi %k, %c-1 : index
  %0 = arith.cmpi sge, %n, %c4 : index
  %1 = arith.cmpi sge, %m, %c4 : index
  %2 = arith.cmpi sge, %k, %c7 : index
  %3 = arith.andi %0, %1 : i1
  %4 = arith.andi %3, %2 : i1
  scf.if %4 {
    %5 = memref.alloc(%n, %m) : memref<?x?xf64>
    scf.for %p = %c0 to %n step %c1 {
      %i = arith.subi %last_row, %p : index
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %s = memref.load %y[%i, %j] : memref<?x?xf64>
        %g = arith.addf %s, %s fastmath<contract> : f64
        memref.store %g, %5[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.parallel (%x) = (%c0) to (%n) step (%c1) {
      scf.parallel (%x_0) = (%c0) to (%m) step (%c1) {
        scf.parallel (%x_1) = (%c0) to (%k) step (%c1) {
          %6 = memref.load %5[%x, %x_0] : memref<?x?xf64>
          %v = memref.load %b[%x_1, %x_0] : memref<?x?xf64>
          %7 = arith.mulf %6, %v fastmath<contract> : f64
          adc.accumulate %7, %a_bar[%x, %x_1] : memref<?x?xf64>
          %u = memref.load %a[%x, %x_1] : memref<?x?xf64>
          %8 = arith.mulf %6, %u fastmath<contract> : f64
          adc.accumulate %8, %b_bar[%x_1, %x_0] : memref<?x?xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  } else {
    scf.for %p_0 = %c0 to %n step %c1 {
      %i_0 = arith.subi %last_row, %p_0 : index
      scf.parallel (%j_0) = (%c0) to (%m) step (%c1) {
        %s_0 = memref.load %y[%i_0, %j_0] : memref<?x?xf64>
        %g_0 = arith.addf %s_0, %s_0 fastmath<contract> : f64
        scf.for %r = %c0 to %k step %c1 {
          %l = arith.subi %last_term, %r : index
          %u_0 = memref.load %a[%i_0, %l] : memref<?x?xf64>
          %v_0 = memref.load %b[%l, %j_0] : memref<?x?xf64>
          %to_a = arith.mulf %g_0, %v_0 fastmath<contract> : f64
          %to_b = arith.mulf %g_0, %u_0 fastmath<contract> : f64
          adc.accumulate %to_a, %a_bar[%i_0, %l] : memref<?x?xf64>
          adc.accumulate %to_b, %b_bar[%l, %j_0] : memref<?x?xf64>
          scf.yield
        }
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @stays(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %y_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %g = memref.load %y_bar[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %n step %c1 {
        %u = memref.load %a[%l, %j] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %t, %y_bar[%i, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @scaled(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %alpha: f64, %b_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c7 = arith.constant 7 : index
  %true = arith.constant true : i1
  %cst = arith.constant 0.001 : f64
  %cst_0 = arith.constant 1000.0 : f64
  %false = arith.constant false : i1
  %k = memref.dim %a, 1 : memref<?x?xf64>
  %0 = arith.cmpi sge, %k, %c7 : index
  %1 = scf.if %0 -> (i1) {
    %2 = math.absf %alpha : f64
    %3 = arith.cmpf oge, %2, %cst : f64
    %4 = arith.cmpf ole, %2, %cst_0 : f64
    %5 = arith.andi %3, %4 : i1
    scf.yield %5 : i1
  } else {
    scf.yield %false : i1
  }
  scf.if %1 {
    %6 = memref.alloc(%c8, %c8) : memref<?x?xf64>
    scf.for %i = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %g = memref.load %y[%i, %j] : memref<?x?xf64>
        %7 = arith.mulf %g, %alpha : f64
        memref.store %7, %6[%i, %j] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.parallel (%x) = (%c0) to (%c8) step (%c1) {
      scf.parallel (%x_0) = (%c0) to (%c8) step (%c1) {
        scf.parallel (%x_1) = (%c0) to (%k) step (%c1) {
          %8 = memref.load %6[%x, %x_0] : memref<?x?xf64>
          %u = memref.load %a[%x, %x_1] : memref<?x?xf64>
          %9 = arith.mulf %8, %u fastmath<contract> : f64
          adc.accumulate %9, %b_bar[%x_0, %x_1] : memref<?x?xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  } else {
    scf.for %i_0 = %c0 to %c8 step %c1 {
      scf.for %j_0 = %c0 to %c8 step %c1 {
        %g_0 = memref.load %y[%i_0, %j_0] : memref<?x?xf64>
        scf.for %l = %c0 to %k step %c1 {
          %u_0 = memref.load %a[%i_0, %l] : memref<?x?xf64>
          %t = arith.mulf %g_0, %u_0 fastmath<contract> : f64
          %s = arith.mulf %t, %alpha fastmath<contract> : f64
          adc.accumulate %s, %b_bar[%j_0, %l] : memref<?x?xf64>
          scf.yield
        }
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @few_rows(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %b_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %k = memref.dim %a, 1 : memref<?x?xf64>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %g = memref.load %y[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %k step %c1 {
        %u = memref.load %a[%i, %l] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %t, %b_bar[%j, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @by_element(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %w: memref<?xf64>, %y_bar: memref<?x?xf64>, %a_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %true = arith.constant true : i1
  %cst = arith.constant 0.001 : f64
  %cst_0 = arith.constant 1000.0 : f64
  %false = arith.constant false : i1
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %m = memref.dim %y, 1 : memref<?x?xf64>
  %k = memref.dim %a, 1 : memref<?x?xf64>
  %0 = arith.cmpi sge, %n, %c4 : index
  %1 = arith.cmpi sge, %m, %c4 : index
  %2 = arith.cmpi sge, %k, %c7 : index
  %3 = arith.andi %0, %1 : i1
  %4 = arith.andi %3, %2 : i1
  %5 = scf.if %4 -> (i1) {
    %p = memref.load %w[%c1] : memref<?xf64>
    %6 = math.absf %p : f64
    %7 = arith.cmpf oge, %6, %cst : f64
    %8 = arith.cmpf ole, %6, %cst_0 : f64
    %9 = arith.andi %7, %8 : i1
    scf.yield %9 : i1
  } else {
    scf.yield %false : i1
  }
  scf.if %5 {
    %10 = memref.alloc(%n, %m) : memref<?x?xf64>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %h = memref.load %y_bar[%i, %j] : memref<?x?xf64>
        %s = memref.load %y[%i, %j] : memref<?x?xf64>
        %g = arith.mulf %h, %s fastmath<contract> : f64
        %nothing = arith.cmpf oeq, %g, %zero : f64
        %p_0 = memref.load %w[%c1] : memref<?xf64>
        %11 = arith.mulf %g, %p_0 : f64
        memref.store %11, %10[%i, %j] : memref<?x?xf64>
        memref.store %g, %y_bar[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.parallel (%x) = (%c0) to (%n) step (%c1) {
      scf.parallel (%x_0) = (%c0) to (%m) step (%c1) {
        scf.parallel (%x_1) = (%c0) to (%k) step (%c1) {
          %12 = memref.load %10[%x, %x_0] : memref<?x?xf64>
          %u = memref.load %y[%x_1, %x_0] : memref<?x?xf64>
          %13 = arith.cmpf oeq, %12, %zero : f64
          %14 = arith.select %13, %zero, %u : f64
          %15 = arith.mulf %12, %14 fastmath<contract> : f64
          adc.accumulate %15, %a_bar[%x, %x_1] : memref<?x?xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  } else {
    scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
      scf.parallel (%j_0) = (%c0) to (%m) step (%c1) {
        %h_0 = memref.load %y_bar[%i_0, %j_0] : memref<?x?xf64>
        %s_0 = memref.load %y[%i_0, %j_0] : memref<?x?xf64>
        %g_0 = arith.mulf %h_0, %s_0 fastmath<contract> : f64
        %nothing_0 = arith.cmpf oeq, %g_0, %zero : f64
        scf.for %l = %c0 to %k step %c1 {
          %u_0 = memref.load %y[%l, %j_0] : memref<?x?xf64>
          %v = arith.select %nothing_0, %zero, %u_0 : f64
          %t = arith.mulf %g_0, %v fastmath<contract> : f64
          %p_1 = memref.load %w[%c1] : memref<?xf64>
          %q = arith.select %nothing_0, %zero, %p_1 : f64
          %r = arith.mulf %t, %q fastmath<contract> : f64
          adc.accumulate %r, %a_bar[%i_0, %l] : memref<?x?xf64>
          scf.yield
        }
        memref.store %g_0, %y_bar[%i_0, %j_0] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  }
  func.return
}
