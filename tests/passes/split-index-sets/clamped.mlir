// adc opt --passes=split-index-sets,tidy
// Subscripts that are clamped at the ends, and one that counts from the end in the first iteration: the loop in the middle has plain ones.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  scf.for %i = %c0 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %after = arith.addi %i, %c1 : index
    %left = arith.maxsi %before, %c0 : index
    %right = arith.minsi %last, %after : index
    %wrapped = adc.bound %before, %n : index
    %a = memref.load %x[%left] : memref<?xf64>
    %b = memref.load %x[%right] : memref<?xf64>
    %c = memref.load %x[%wrapped] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    %t = arith.addf %s, %c : f64
    memref.store %t, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %c-2 = arith.constant -2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.addi %n, %c-1 : index
  %0 = arith.cmpi sgt, %n, %c0 : index
  scf.if %0 {
    %right = arith.minsi %last, %c1 : index
    %a = memref.load %x[%c0] : memref<?xf64>
    %b = memref.load %x[%right] : memref<?xf64>
    %c = memref.load %x[%last] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    %t = arith.addf %s, %c : f64
    memref.store %t, %y[%c0] : memref<?xf64>
    scf.yield
  }
  scf.for %i = %c1 to %last step %c1 {
    %before = arith.addi %i, %c-1 : index
    %after = arith.addi %i, %c1 : index
    %a_0 = memref.load %x[%before] : memref<?xf64>
    %b_0 = memref.load %x[%after] : memref<?xf64>
    %s_0 = arith.addf %a_0, %b_0 : f64
    %t_0 = arith.addf %s_0, %a_0 : f64
    memref.store %t_0, %y[%i] : memref<?xf64>
    scf.yield
  }
  %1 = arith.cmpi sgt, %n, %c1 : index
  scf.if %1 {
    %before_0 = arith.addi %n, %c-2 : index
    %a_1 = memref.load %x[%before_0] : memref<?xf64>
    %b_1 = memref.load %x[%last] : memref<?xf64>
    %s_1 = arith.addf %a_1, %b_1 : f64
    %t_1 = arith.addf %s_1, %a_1 : f64
    memref.store %t_1, %y[%last] : memref<?xf64>
    scf.yield
  }
  func.return
}
