// adc opt --passes=delinearize-loops,tidy
// Three loops in one, with a sum: the divisor of one quotient is a product. Of the other loop the number of iterations is no product: rows may be left over, and both versions are likely.

func.func @f(%x: memref<?x?x?xf64>, %n: index, %m: index, %k: index, %count: index, %y: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %plane = arith.muli %m, %k : index
  %total = arith.muli %n, %plane : index
  %sum = scf.parallel (%q) = (%c0) to (%total) step (%c1) init (%zero) -> (f64) {
    %a = arith.floordivsi %q, %plane : index
    %rest = arith.floordivsi %q, %k : index
    %b = arith.remsi %rest, %m : index
    %c = arith.remsi %q, %k : index
    %v = memref.load %x[%a, %b, %c] : memref<?x?x?xf64>
    scf.reduce(%v : f64) {kinds = ["add"]}
  }
  scf.for %p = %c0 to %count step %c1 {
    %i = arith.floordivsi %p, %m : index
    %j = arith.remsi %p, %m : index
    memref.store %sum, %y[%i, %j] : memref<?x?xf64>
    scf.yield
  }
  func.return %sum : f64
}

// becomes
func.func @f(%x: memref<?x?x?xf64>, %n: index, %m: index, %k: index, %count: index, %y: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %cst = arith.constant -0.0 : f64
  %plane = arith.muli %m, %k : index
  %total = arith.muli %n, %plane : index
  %0 = arith.cmpi sge, %k, %c1 : index
  %1 = adc.fits %n, %m {kind = "mul"} : index
  %2 = arith.muli %n, %m : index
  %3 = adc.fits %2, %k {kind = "mul"} : index
  %4 = arith.cmpi sge, %plane, %c1 : index
  %5 = arith.cmpi sge, %m, %c1 : index
  %6 = adc.fits %m, %k {kind = "mul"} : index
  %7 = arith.andi %0, %1 : i1
  %8 = arith.andi %7, %3 : i1
  %9 = arith.andi %8, %4 : i1
  %10 = arith.andi %9, %5 : i1
  %11 = arith.andi %10, %6 : i1
  %12 = arith.andi %11, %5 : i1
  %13 = arith.andi %12, %1 : i1
  %sum = scf.if %13 -> (f64) {
    %sum_0 = scf.parallel (%a) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %14 = scf.parallel (%a_0) = (%c0) to (%m) step (%c1) init (%cst) -> f64 {
        %15 = scf.parallel (%q) = (%c0) to (%k) step (%c1) init (%cst) -> f64 {
          %v = memref.load %x[%a, %a_0, %q] : memref<?x?x?xf64>
          scf.reduce(%v : f64) {kinds = ["add"]}
        }
        scf.reduce(%15 : f64) {kinds = ["add"]}
      }
      scf.reduce(%14 : f64) {kinds = ["add"]}
    }
    scf.yield %sum_0 : f64
  } else {
    %sum_1 = scf.parallel (%q_0) = (%c0) to (%total) step (%c1) init (%zero) -> f64 {
      %a_1 = arith.floordivsi %q_0, %plane : index
      %rest = arith.floordivsi %q_0, %k : index
      %b = arith.remsi %rest, %m : index
      %c = arith.remsi %q_0, %k : index
      %v_0 = memref.load %x[%a_1, %b, %c] : memref<?x?x?xf64>
      scf.reduce(%v_0 : f64) {kinds = ["add"]}
    }
    scf.yield %sum_1 : f64
  } {adc.cold = "else"}
  %16 = arith.maxsi %m, %c1 : index
  %17 = arith.remsi %count, %16 : index
  %18 = arith.cmpi eq, %17, %c0 : index
  %19 = arith.floordivsi %count, %16 : index
  %20 = arith.andi %5, %18 : i1
  scf.if %20 {
    scf.for %i = %c0 to %19 step %c1 {
      scf.for %p = %c0 to %m step %c1 {
        memref.store %sum, %y[%i, %p] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  } else {
    scf.for %p_0 = %c0 to %count step %c1 {
      %i_0 = arith.floordivsi %p_0, %m : index
      %j = arith.remsi %p_0, %m : index
      memref.store %sum, %y[%i_0, %j] : memref<?x?xf64>
      scf.yield
    }
    scf.yield
  } {adc.likely = true}
  func.return %sum : f64
}
