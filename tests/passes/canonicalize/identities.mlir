// adc opt --passes=canonicalize,dce
// What is exact in floating point is simplified: x * 1 is x, and x + 0 is not (of -0.0 it makes 0.0). Integers are linear
// forms, by which i + 1 <= n follows from i < n.

func.func @floats(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %zero = arith.constant 0.0 : f64
  %y = arith.mulf %x, %one : f64
  %z = arith.addf %y, %zero : f64
  func.return %z : f64
}

func.func @integers(%x: memref<?xf64>) -> index {
  %n = memref.dim %x, 0 : memref<?xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c0) -> (index) {
    %next = arith.addi %i, %c1 : index
    %inside = arith.cmpi sle, %next, %n : index
    %by = arith.select %inside, %next, %c0 : index
    %sum = arith.addi %t, %by : index
    scf.yield %sum : index
  }
  func.return %s : index
}

// becomes
func.func @floats(%x: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %z = arith.addf %x, %zero : f64
  func.return %z : f64
}

func.func @integers(%x: memref<?xf64>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c0) -> (index) {
    %next = arith.addi %i, %c1 : index
    %sum = arith.addi %t, %next : index
    scf.yield %sum : index
  }
  func.return %s : index
}
