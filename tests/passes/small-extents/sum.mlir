// adc opt --passes=small-extents
// %t has as many elements as %x, and those are three, as the program checks: where that holds, its extent is a number.

func.func @f(%x: memref<?xf64> {adc.readonly = true}, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %three = arith.cmpi eq, %n, %c3 : index
  adc.assert %three {error = "ValueError", message = "three numbers, please"} : i1
  %t = memref.alloc(%n) : memref<?xf64>
  scf.for %j = %c0 to %n step %c1 {
    %a = memref.load %x[%j] : memref<?xf64>
    %b = arith.mulf %a, %a : f64
    memref.store %b, %t[%j] : memref<?xf64>
    scf.yield
  }
  %y = memref.load %t[%c1] : memref<?xf64>
  func.return %y : f64
}

// becomes
func.func @f(%x: memref<?xf64> {adc.readonly = true}, %i: index) -> f64 {
  %c3 = arith.constant 3 : index
  %0 = memref.dim %x, 0 : memref<?xf64>
  %1 = arith.cmpi eq, %0, %c3 : index
  %2 = scf.if %1 -> (f64) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3_0 = arith.constant 3 : index
    %n = memref.dim %x, 0 : memref<?xf64>
    %three = arith.cmpi eq, %c3, %c3_0 : index
    adc.assert %three {error = "ValueError", message = "three numbers, please"} : i1
    %t = memref.alloc(%c3) : memref<?xf64>
    scf.for %j = %c0 to %c3 step %c1 {
      %a = memref.load %x[%j] : memref<?xf64>
      %b = arith.mulf %a, %a : f64
      memref.store %b, %t[%j] : memref<?xf64>
      scf.yield
    }
    %y = memref.load %t[%c1] : memref<?xf64>
    scf.yield %y : f64
  } else {
    %c0_0 = arith.constant 0 : index
    %c1_0 = arith.constant 1 : index
    %c3_1 = arith.constant 3 : index
    %n_0 = memref.dim %x, 0 : memref<?xf64>
    %three_0 = arith.cmpi eq, %n_0, %c3_1 : index
    adc.assert %three_0 {error = "ValueError", message = "three numbers, please"} : i1
    %t_0 = memref.alloc(%n_0) : memref<?xf64>
    scf.for %j_0 = %c0_0 to %n_0 step %c1_0 {
      %a_0 = memref.load %x[%j_0] : memref<?xf64>
      %b_0 = arith.mulf %a_0, %a_0 : f64
      memref.store %b_0, %t_0[%j_0] : memref<?xf64>
      scf.yield
    }
    %y_0 = memref.load %t_0[%c1_0] : memref<?xf64>
    scf.yield %y_0 : f64
  } {adc.cold = "else", adc.exceptional = true}
  func.return %2 : f64
}
